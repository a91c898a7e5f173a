#include "traces/json_elements.hpp"

#include <algorithm>

#include "traces/numbers.hpp"

namespace servecast {
namespace {

constexpr std::size_t kLargestElement = 64 * 1024 * 1024;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Follows brackets and strings, nothing else: what an element holds is its parser's business.
class ElementScanner {
 public:
  // True once the element is complete; `position` then stands behind it.
  bool scan(std::string_view text, std::size_t& position) {
    while (position < text.size()) {
      const char c = text[position++];
      if (in_string_) {
        if (c == '\\') {
          escaped_ = !escaped_;
        } else {
          if (c == '"' && !escaped_) in_string_ = false;
          escaped_ = false;
        }
      } else if (c == '"') {
        in_string_ = true;
      } else if (c == '{' || c == '[') {
        ++depth_;
      } else if ((c == '}' || c == ']') && --depth_ <= 0) {
        return true;
      }
    }
    return false;
  }

 private:
  long depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace

void JsonElements::take(std::size_t bytes) {
  const std::string_view text = input_.peek(bytes);
  line_ += std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bytes), '\n');
  input_.skip(bytes);
}

// The next byte that is not white space, not consumed; −1 at the end.
int JsonElements::next_char() {
  for (int c = input_.peek_char(); c >= 0; c = input_.peek_char()) {
    if (!is_space(static_cast<char>(c))) return c;
    take(1);
  }
  return -1;
}

void JsonElements::expect_end() {
  ended_ = true;
  if (next_char() >= 0) fail({file(), line_, {}}, "text after the end of the JSON array");
}

// Whether another element follows; consumes what stands between.
bool JsonElements::after_separator() {
  int c = next_char();
  if (shape_ == Shape::kSequence) return c >= 0;
  if (c == ']') {
    take(1);
    expect_end();
    return false;
  }
  if (first_) return true;
  if (c < 0) fail({file(), line_, {}}, "the file ends inside its JSON array", "is it truncated?");
  if (c != ',') fail({file(), line_, {}}, "expected ',' or ']' between the elements of the JSON array");
  take(1);
  next_char();
  return true;
}

std::size_t JsonElements::element_size() {
  ElementScanner scanner;
  std::size_t position = 0;
  std::string_view seen = input_.peek(1);
  while (!scanner.scan(seen, position)) {
    if (seen.size() >= kLargestElement) fail({file(), element_line_, {}}, "the JSON element is larger than 64 MiB");
    seen = input_.peek(position + 1);
    if (seen.size() == position) {
      fail({file(), element_line_, {}}, "the file ends inside the JSON element that starts here", "is it truncated?");
    }
  }
  return position;
}

bool JsonElements::next(std::string_view& element) {
  take(pending_);
  pending_ = 0;
  if (ended_) return false;
  if (shape_ == Shape::kUnknown) {
    shape_ = next_char() == '[' ? Shape::kArray : Shape::kSequence;
    if (shape_ == Shape::kArray) take(1);
  }
  if (!after_separator()) return false;
  first_ = false;
  const int c = input_.peek_char();
  element_line_ = line_;
  if (c < 0) fail({file(), line_, {}}, "the file ends inside its JSON array", "is it truncated?");
  if (c != '{' && c != '[') fail({file(), line_, {}}, "expected a JSON object");
  pending_ = element_size();
  element = input_.peek(pending_).substr(0, pending_);
  return true;
}

JsonGlimpse glimpse_json(std::string_view text) {
  JsonGlimpse seen;
  std::size_t at = 0;
  const auto skip_space = [&] {
    while (at < text.size() && is_space(text[at])) ++at;
  };
  skip_space();
  seen.is_json = at < text.size() && (text[at] == '{' || text[at] == '[');
  if (!seen.is_json) return seen;
  if (text[at] == '[') ++at;
  skip_space();
  if (at == text.size() || text[at] != '{') return seen;
  long depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return seen;
    if (c != '"') continue;
    const std::size_t begin = ++at;
    while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2u : 1u;
    if (at >= text.size()) return seen;
    const std::string_view string = text.substr(begin, at - begin);
    std::size_t behind = at + 1;
    while (behind < text.size() && is_space(text[behind])) ++behind;
    if (depth == 1 && behind < text.size() && text[behind] == ':') seen.keys.emplace_back(string);
  }
  return seen;
}

}  // namespace servecast
