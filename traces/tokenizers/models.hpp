// One function a kind of tokenizer; make_token_counter chooses. Each throws InputError as it does.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "traces/tokenizers/tokenizer.hpp"

namespace servecast {

// A counter that can also say which tokens it counts.
class TextEncoder : public TokenCounter {
 public:
  [[nodiscard]] virtual std::vector<std::uint32_t> encode(std::string_view text) = 0;
};

[[nodiscard]] std::unique_ptr<TokenCounter> make_estimate(const CharactersPerToken& spec);
[[nodiscard]] std::unique_ptr<TokenCounter> load_sentencepiece(const SentencePieceModel& spec);
[[nodiscard]] std::unique_ptr<TextEncoder> load_huggingface(const HuggingFaceTokenizer& spec);

}  // namespace servecast
