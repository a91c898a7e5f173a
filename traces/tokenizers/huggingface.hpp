// What a Hugging Face tokenizer.json says, reduced to what a byte-level BPE needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/tokenizers/bpe.hpp"
#include "traces/tokenizers/split.hpp"

namespace servecast {

struct AddedToken {
  std::string content;
  std::uint32_t id = 0;
};

struct HuggingFaceFile {
  BytePairs pairs;
  SplitRule rule;
  bool nfc;                       // normalise to NFC first
  std::vector<AddedToken> added;  // matched in the text before anything else; the longest first
};

// Throws InputError where the file is none, or asks for something that is not implemented, which it names.
[[nodiscard]] HuggingFaceFile read_huggingface_file(const std::string& path);

}  // namespace servecast
