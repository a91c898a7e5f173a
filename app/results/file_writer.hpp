// A file that is written once, from front to back.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>

namespace servecast {

class FileWriter {
 public:
  // Each throws InputError with the system's reason where the medium does not take it.
  explicit FileWriter(const std::filesystem::path& path);
  void write(std::string_view bytes);
  // Must be called: without it nothing says whether the last bytes arrived.
  void close();

 private:
  [[noreturn]] void fail() const;

  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Closer> file_;
};

void write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace servecast
