// Cuts a text into the words that a byte-level BPE merges within: what the tokenizer file states as a regular
// expression, done by hand for the three expressions in wide use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace servecast {

enum class SplitRule {
  kGpt2,    // GPT-2, OPT, and every ByteLevel pre-tokenizer with its own expression
  kLlama3,  // Llama-3: digits in groups of up to three
  kQwen2,   // Qwen-2, -2.5, -3: each digit alone
};

// The rule that a `Split` pre-tokenizer's regular expression stands for, if it is one of these.
[[nodiscard]] std::optional<SplitRule> split_rule(std::string_view regex);

// The words of one text after another. Bytes that are not UTF-8 count as characters of their own.
class WordSplitter {
 public:
  explicit WordSplitter(SplitRule rule) : rule_(rule) {}

  // `text` must live as long as its words are asked for.
  void start(std::string_view text);
  // False at the end. The words are the text, without gap or overlap.
  bool next(std::string_view& word);

 private:
  enum class Kind : std::uint8_t { kLetter, kNumber, kNewline, kSpace, kOther };
  struct Character {
    std::size_t offset;
    Kind kind;
    bool blank;  // U+0020
  };

  [[nodiscard]] static Kind kind_of(std::int32_t code_point);
  [[nodiscard]] bool is(std::size_t at, Kind kind) const { return at < size() && characters_[at].kind == kind; }
  [[nodiscard]] bool is_white(std::size_t at) const { return is(at, Kind::kSpace) || is(at, Kind::kNewline); }
  [[nodiscard]] std::size_t size() const { return characters_.size() - 1; }  // the last one marks the end
  [[nodiscard]] std::size_t run(std::size_t at, Kind kind) const;
  [[nodiscard]] std::size_t contraction(std::size_t at) const;
  [[nodiscard]] std::size_t white_space(std::size_t at) const;
  [[nodiscard]] std::size_t gpt2_word(std::size_t at) const;
  [[nodiscard]] std::size_t llama3_word(std::size_t at) const;

  SplitRule rule_;
  std::string_view text_;
  std::vector<Character> characters_;
  std::size_t at_ = 0;
};

}  // namespace servecast
