// Runs the built program as a shell would, in a folder of its own.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/wait.h>

namespace servecast::test {

namespace fs = std::filesystem;

struct Ran {
  int code = -1;
  std::string out, err;
};

inline std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "servecast-cli-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for the test");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  [[nodiscard]] std::string read(const std::string& name) const { return contents(path_ / name); }
  [[nodiscard]] bool has(const std::string& name) const { return fs::exists(path_ / name); }

  // `arguments` as a shell takes them, redirections included.
  [[nodiscard]] Ran run(const std::string& arguments) const {
    const fs::path out = path_ / ".stdout", err = path_ / ".stderr";
    const std::string command = "cd '" + path_.string() + "' && >'" + out.string() + "' 2>'" + err.string() +
                                "' </dev/null '" SERVECAST_PROGRAM "' " + arguments;
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(out), contents(err)};
  }

 private:
  fs::path path_;
};

// Fails unless `ran` refused its input with one line that holds each of `parts`.
inline void check_refused(const Folder& folder, const Ran& ran, std::initializer_list<const char*> parts) {
  CAPTURE(ran.err);
  CHECK(ran.code == 2);
  CHECK(ran.err.starts_with("servecast: error: "));
  CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
  for (const char* part : parts) CHECK_MESSAGE(ran.err.find(part) != std::string::npos, part);
  CHECK(ran.out.empty());
  CHECK_FALSE(folder.has("results"));
}

// An experiment of 40 requests that takes no time to run, with these lines for its workload and deployment.
inline std::string experiment(const std::string& workload =
                                  "  lengths: {prompt: {fixed: 100}, output: {uniform: {min: 1, max: 20}}}\n"
                                  "  arrivals: {poisson: {rate: 20}}\n"
                                  "  requests: 40\n",
                              const std::string& more = {}) {
  return "servecast: 1\nmodel: llama-3.1-8b\ndevice: h100-sxm\nworkload:\n" + workload +
         "deployment:\n  policy: vllm-v1\n" + more;
}

}  // namespace servecast::test
