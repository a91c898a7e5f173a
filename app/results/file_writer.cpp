#include "app/results/file_writer.hpp"

#include <cerrno>
#include <system_error>

#include "sim/error.hpp"

namespace servecast {

FileWriter::FileWriter(const std::filesystem::path& path) : path_(path), file_(std::fopen(path.c_str(), "wb")) {
  if (!file_) fail();
}

void FileWriter::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) fail();
}

void FileWriter::close() {
  if (std::fclose(file_.release()) != 0) fail();
}

void FileWriter::fail() const {
  throw InputError({path_.string(), 0, {}}, "cannot be written: " + std::generic_category().message(errno));
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  FileWriter file(path);
  file.write(bytes);
  file.close();
}

}  // namespace servecast
