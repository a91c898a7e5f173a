#include <cmath>

#include "traces/numbers.hpp"
#include "traces/tokenizers/models.hpp"

namespace servecast {
namespace {

class Estimate : public TokenCounter {
 public:
  explicit Estimate(double characters) : characters_(characters) {}

  std::int64_t count(std::string_view text) override {
    std::int64_t characters = 0;
    for (const char c : text) characters += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;  // UTF-8 starts
    return static_cast<std::int64_t>(std::ceil(static_cast<double>(characters) / characters_));
  }
  [[nodiscard]] std::string description() const override {
    return "estimated at " + format_number(characters_) + " characters per token";
  }

 private:
  double characters_;
};

}  // namespace

std::unique_ptr<TokenCounter> make_estimate(const CharactersPerToken& spec) {
  if (!(spec.characters >= 0.1 && spec.characters <= 1000)) {
    refuse("characters_per_token", "is out of range", "expected 0.1 to 1000");
  }
  return std::make_unique<Estimate>(spec.characters);
}

}  // namespace servecast
