#include "traces/tokenizers/split.hpp"

#include <algorithm>
#include <array>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

namespace servecast {

std::optional<SplitRule> split_rule(std::string_view regex) {
  constexpr std::string_view kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  constexpr std::string_view kLlama3 =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  constexpr std::string_view kQwen2 =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  if (regex == kGpt2) return SplitRule::kGpt2;
  if (regex == kLlama3) return SplitRule::kLlama3;
  if (regex == kQwen2) return SplitRule::kQwen2;
  return std::nullopt;
}

WordSplitter::Kind WordSplitter::kind_of(std::int32_t code_point) {
  if (code_point == '\r' || code_point == '\n') return Kind::kNewline;
  if (code_point < 0) return Kind::kOther;
  if (u_isUWhiteSpace(code_point)) return Kind::kSpace;
  const std::uint32_t category = U_GET_GC_MASK(code_point);
  if ((category & U_GC_L_MASK) != 0) return Kind::kLetter;
  if ((category & U_GC_N_MASK) != 0) return Kind::kNumber;
  return Kind::kOther;
}

void WordSplitter::start(std::string_view text) {
  text_ = text;
  at_ = 0;
  characters_.clear();
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const auto length = static_cast<std::int64_t>(text.size());
  for (std::int64_t i = 0; i < length;) {
    const auto offset = static_cast<std::size_t>(i);
    UChar32 code_point = 0;
    U8_NEXT(bytes, i, length, code_point);
    characters_.push_back({offset, kind_of(code_point), code_point == ' '});
  }
  characters_.push_back({text.size(), Kind::kOther, false});
}

bool WordSplitter::next(std::string_view& word) {
  if (at_ >= size()) return false;
  const std::size_t end = rule_ == SplitRule::kGpt2 ? gpt2_word(at_) : llama3_word(at_);
  const std::size_t begin = characters_[at_].offset;
  word = text_.substr(begin, characters_[end].offset - begin);
  at_ = end;
  return true;
}

// Where a run of that kind ends.
std::size_t WordSplitter::run(std::size_t at, Kind kind) const {
  while (is(at, kind)) ++at;
  return at;
}

// 's 't 're 've 'm 'll 'd: where it ends, or `at` where there is none.
std::size_t WordSplitter::contraction(std::size_t at) const {
  constexpr std::array<std::string_view, 7> kEndings{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
  const bool any_case = rule_ != SplitRule::kGpt2;
  const auto same = [any_case](char text, char ending) {
    return text == ending || (any_case && text >= 'A' && text <= 'Z' && text - 'A' + 'a' == ending);
  };
  const std::string_view rest = text_.substr(characters_[at].offset);
  for (const std::string_view ending : kEndings) {
    if (rest.size() >= ending.size() &&
        std::equal(ending.begin(), ending.end(), rest.begin(), [&](char e, char t) { return same(t, e); })) {
      return at + ending.size();
    }
  }
  return at;
}

// \s+(?!\S)|\s+ : a run of white space leaves its last character to the word behind it, unless it is alone.
std::size_t WordSplitter::white_space(std::size_t at) const {
  std::size_t end = at;
  while (is_white(end)) ++end;
  return end < size() && end - at > 1 ? end - 1 : end;
}

std::size_t WordSplitter::gpt2_word(std::size_t at) const {
  if (const std::size_t end = contraction(at); end > at) return end;
  const std::size_t first = characters_[at].blank ? at + 1 : at;
  for (const Kind kind : {Kind::kLetter, Kind::kNumber, Kind::kOther}) {
    if (is(first, kind)) return run(first, kind);
  }
  return white_space(at);
}

std::size_t WordSplitter::llama3_word(std::size_t at) const {
  if (const std::size_t end = contraction(at); end > at) return end;
  if (is(at, Kind::kLetter)) return run(at, Kind::kLetter);
  if ((is(at, Kind::kSpace) || is(at, Kind::kOther)) && is(at + 1, Kind::kLetter)) return run(at + 1, Kind::kLetter);
  if (is(at, Kind::kNumber)) {
    const std::size_t most = rule_ == SplitRule::kLlama3 ? 3 : 1;
    return std::min(run(at, Kind::kNumber), at + most);
  }
  const std::size_t first = characters_[at].blank ? at + 1 : at;
  if (is(first, Kind::kOther)) return run(run(first, Kind::kOther), Kind::kNewline);
  // \s*[\r\n]+ : up to the last line end within the white space.
  std::size_t behind_newline = at;
  for (std::size_t i = at; is_white(i); ++i) {
    if (is(i, Kind::kNewline)) behind_newline = i + 1;
  }
  return behind_newline > at ? behind_newline : white_space(at);
}

}  // namespace servecast
