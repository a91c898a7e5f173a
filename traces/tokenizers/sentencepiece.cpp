#include <filesystem>
#include <sentencepiece_processor.h>
#include <vector>

#include "traces/numbers.hpp"
#include "traces/tokenizers/models.hpp"

namespace servecast {
namespace {

class SentencePiece : public TokenCounter {
 public:
  explicit SentencePiece(const std::string& path) : path_(path) {
    if (const auto status = model_.Load(path); !status.ok()) {
      fail({path_, 0, {}}, "is not a sentencepiece model", "expected a tokenizer.model of the sentencepiece kind");
    }
  }

  std::int64_t count(std::string_view text) override {
    if (const auto status = model_.Encode({text.data(), text.size()}, &ids_); !status.ok()) {
      fail({path_, 0, {}}, "cannot encode a text: " + status.ToString());
    }
    return static_cast<std::int64_t>(ids_.size());
  }
  [[nodiscard]] std::string description() const override { return "counted by sentencepiece model " + path_; }

 private:
  std::string path_;
  sentencepiece::SentencePieceProcessor model_;
  std::vector<int> ids_;
};

}  // namespace

std::unique_ptr<TokenCounter> load_sentencepiece(const SentencePieceModel& spec) {
  if (!std::filesystem::is_regular_file(spec.path)) fail({spec.path, 0, {}}, "cannot be opened");
  return std::make_unique<SentencePiece>(spec.path);
}

}  // namespace servecast
