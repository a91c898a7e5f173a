#include "traces/byte_source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "sim/error.hpp"

namespace servecast {
namespace {

constexpr std::size_t kLongestLine = 64 * 1024 * 1024;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

class FileSource : public ByteSource {
 public:
  explicit FileSource(const std::string& path) : path_(path) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) throw InputError({path, 0, {}}, "is a folder, not a trace");
    file_.reset(std::fopen(path.c_str(), "rb"));
    if (!file_) fail("cannot be opened");
  }

  std::size_t read(char* out, std::size_t size) override {
    const std::size_t got = std::fread(out, 1, size, file_.get());
    if (got == 0 && std::ferror(file_.get()) != 0) fail("cannot be read");
    return got;
  }
  [[nodiscard]] const std::string& name() const override { return path_; }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw InputError({path_, 0, {}}, std::string(what) + ": " + std::generic_category().message(errno));
  }

  std::string path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
};

class MemorySource : public ByteSource {
 public:
  MemorySource(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {}

  std::size_t read(char* out, std::size_t size) override {
    const std::size_t taken = text_.copy(out, size);
    text_.remove_prefix(taken);
    return taken;
  }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::string_view text_;
  std::string name_;
};

}  // namespace

std::unique_ptr<ByteSource> open_file(const std::string& path) { return std::make_unique<FileSource>(path); }

std::unique_ptr<ByteSource> memory_source(std::string_view text, std::string name) {
  return std::make_unique<MemorySource>(text, std::move(name));
}

BufferedInput::BufferedInput(ByteSource& source, std::size_t buffer_bytes)
    : source_(source), buffer_(std::max<std::size_t>(buffer_bytes, 16)) {
  if (peek(3).starts_with("\xEF\xBB\xBF")) skip(3);
}

std::string_view BufferedInput::peek(std::size_t wanted) {
  if (end_ - begin_ < wanted && !ended_) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    while (end_ < wanted && !ended_) {
      if (end_ == buffer_.size()) buffer_.resize(buffer_.size() * 2);
      const std::size_t got = source_.read(buffer_.data() + end_, buffer_.size() - end_);
      end_ += got;
      ended_ = got == 0;
    }
  }
  return {buffer_.data() + begin_, end_ - begin_};
}

bool LineReader::next(std::string_view& line) {
  input_.skip(pending_);
  pending_ = 0;
  std::string_view seen = input_.peek(1);
  if (seen.empty()) return false;
  ++line_;
  std::size_t end = seen.find('\n');
  while (end == std::string_view::npos) {
    if (seen.size() >= kLongestLine) throw InputError({file(), line_, {}}, "the line is longer than 64 MiB");
    const std::size_t searched = seen.size();
    seen = input_.peek(searched + 1);
    if (seen.size() == searched) break;
    end = seen.find('\n', searched);
  }
  pending_ = end == std::string_view::npos ? seen.size() : end + 1;
  line = seen.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

}  // namespace servecast
