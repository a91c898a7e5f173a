// Bytes from a file or from memory, and the one buffer through which every reader looks at them.
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace servecast {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills up to `size` bytes and says how many; 0 only at the end. Throws InputError where the medium fails.
  virtual std::size_t read(char* out, std::size_t size) = 0;
  // As error messages name it.
  [[nodiscard]] virtual const std::string& name() const = 0;
};

// Throws InputError where the file cannot be opened or is a folder.
[[nodiscard]] std::unique_ptr<ByteSource> open_file(const std::string& path);

// `text` must outlive the source.
[[nodiscard]] std::unique_ptr<ByteSource> memory_source(std::string_view text, std::string name = "memory");

// A window that slides over a source. A byte order mark at the start (UTF-8) is skipped.
class BufferedInput {
 public:
  explicit BufferedInput(ByteSource& source, std::size_t buffer_bytes = 64 * 1024);

  // The bytes from here on: at least `wanted` of them unless the input ends first. Valid until the next call.
  std::string_view peek(std::size_t wanted = 1);
  // Requires that `peek` showed that many.
  void skip(std::size_t bytes) { begin_ += bytes; }
  // The next byte, not consumed; −1 at the end.
  int peek_char() {
    if (begin_ == end_) peek(1);
    return begin_ == end_ ? -1 : static_cast<unsigned char>(buffer_[begin_]);
  }

  [[nodiscard]] const std::string& name() const { return source_.name(); }
  [[nodiscard]] std::size_t buffer_bytes() const { return buffer_.size(); }

 private:
  ByteSource& source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool ended_ = false;
};

// Lines without their end ("\n" or "\r\n"); a last line without an end counts.
class LineReader {
 public:
  explicit LineReader(BufferedInput& input) : input_(input) {}
  // False at the end. The line is valid until the next call. Throws InputError beyond 64 MiB in one line.
  bool next(std::string_view& line);
  // Of the line last returned, from 1.
  [[nodiscard]] long line() const { return line_; }
  [[nodiscard]] const std::string& file() const { return input_.name(); }

 private:
  BufferedInput& input_;
  std::size_t pending_ = 0;  // bytes of the line last returned, consumed by the next call
  long line_ = 0;
};

}  // namespace servecast
