#include "traces/tokenizers/tokenizer.hpp"

#include "traces/tokenizers/models.hpp"

namespace servecast {
namespace {

struct Make {
  std::unique_ptr<TokenCounter> operator()(const CharactersPerToken& spec) const { return make_estimate(spec); }
  std::unique_ptr<TokenCounter> operator()(const SentencePieceModel& spec) const { return load_sentencepiece(spec); }
  std::unique_ptr<TokenCounter> operator()(const HuggingFaceTokenizer& spec) const { return load_huggingface(spec); }
};

}  // namespace

std::unique_ptr<TokenCounter> make_token_counter(const TokenizerSpec& spec) { return std::visit(Make{}, spec); }

}  // namespace servecast
