// How many tokens a text is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace servecast {

// An estimate: a token for each `characters` Unicode characters begun. The default is OpenAI's rule of thumb
// for English, "1 token ~= 4 chars" (help.openai.com, article 4936856); other languages need more tokens.
struct CharactersPerToken {
  double characters = 4.0;
};
// A sentencepiece `tokenizer.model`, as Llama-2 and Mistral-7B have.
struct SentencePieceModel {
  std::string path;
};
// A Hugging Face `tokenizer.json` holding a byte-level BPE, as GPT-2, Llama-3 and Qwen have.
struct HuggingFaceTokenizer {
  std::string path;
};
using TokenizerSpec = std::variant<CharactersPerToken, SentencePieceModel, HuggingFaceTokenizer>;

// Counts text alone: no beginning-of-text token, no chat template.
class TokenCounter {
 public:
  virtual ~TokenCounter() = default;
  [[nodiscard]] virtual std::int64_t count(std::string_view text) = 0;
  // For results: "estimated at 4 characters per token", "counted by …".
  [[nodiscard]] virtual std::string description() const = 0;
};

// Throws InputError where the model cannot be loaded or is of a kind that is not implemented.
[[nodiscard]] std::unique_ptr<TokenCounter> make_token_counter(const TokenizerSpec& spec);

}  // namespace servecast
