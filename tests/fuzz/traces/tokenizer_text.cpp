// Any bytes, cut into words by each rule: the words must be the text, and lie within it.
#include <cstdint>
#include <cstdlib>

#include "traces/tokenizers/split.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace servecast;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const SplitRule rule : {SplitRule::kGpt2, SplitRule::kLlama3, SplitRule::kQwen2}) {
    WordSplitter splitter(rule);
    splitter.start(text);
    std::size_t covered = 0;
    std::string_view word;
    while (splitter.next(word)) {
      if (word.empty() || word.data() != text.data() + covered) std::abort();
      covered += word.size();
    }
    if (covered != size) std::abort();
  }
  return 0;
}
