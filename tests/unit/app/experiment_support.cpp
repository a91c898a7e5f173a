#include "tests/unit/app/experiment_support.hpp"

#include <doctest/doctest.h>
#include <fstream>
#include <unistd.h>

#include "sim/error.hpp"

namespace servecast::test {

ExperimentFile::ExperimentFile(const std::string& text) {
  static int count = 0;
  folder_ = std::filesystem::temp_directory_path() /
            ("servecast-experiment-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
  std::filesystem::create_directories(folder_);
  std::ofstream(path(), std::ios::binary) << text;
}

ExperimentFile::~ExperimentFile() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Study study(const std::string& text, const std::vector<std::string>& overrides) {
  const ExperimentFile file(text);
  return load_study(file.path(), overrides);
}

Experiment experiment(const std::string& text, const std::vector<std::string>& overrides) {
  Study loaded = study(text, overrides);
  REQUIRE(loaded.points.size() == 1);
  return loaded.points.front().experiment;
}

std::string error_of(const std::string& text, const std::vector<std::string>& overrides) {
  const ExperimentFile file(text);
  try {
    static_cast<void>(load_study(file.path(), overrides));
  } catch (const InputError& error) {
    std::string message = error.what();
    const std::string folder = file.path().parent_path().string() + "/";
    for (std::size_t at; (at = message.find(folder)) != std::string::npos;) message.erase(at, folder.size());
    return message;
  }
  return {};
}

}  // namespace servecast::test
