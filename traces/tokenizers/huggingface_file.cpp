#include <algorithm>
#include <array>
#include <optional>
#include <simdjson.h>

#include "traces/numbers.hpp"
#include "traces/tokenizers/huggingface.hpp"

namespace servecast {
namespace {

using simdjson::dom::element;

// GPT-2 writes each byte as a printable character: itself where it is one in Latin-1, otherwise U+0100 and up in
// order. This is the way back, by code point.
const std::array<int, 512>& byte_of_character() {
  static const std::array<int, 512> kTable = [] {
    std::array<int, 512> table{};
    table.fill(-1);
    std::size_t next = 256;
    for (int byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      table[printable ? static_cast<std::size_t>(byte) : next++] = byte;
    }
    return table;
  }();
  return kTable;
}

// The bytes that a vocabulary entry stands for; false where a character stands for none.
bool to_bytes(std::string_view written, std::string& bytes) {
  bytes.clear();
  for (std::size_t i = 0; i < written.size(); ++i) {
    auto code = static_cast<std::size_t>(static_cast<unsigned char>(written[i]));
    if (code >= 0x80) {
      // All of the mapping lies below U+0200, which is two bytes of UTF-8.
      if ((code & 0xE0) != 0xC0 || i + 1 == written.size()) return false;
      code = (code & 0x1F) << 6 | (static_cast<unsigned char>(written[++i]) & 0x3Fu);
    }
    if (code >= 512 || byte_of_character()[code] < 0) return false;
    bytes.push_back(static_cast<char>(byte_of_character()[code]));
  }
  return true;
}

class FileReader {
 public:
  explicit FileReader(const std::string& path) : path_(path) {
    const simdjson::error_code error = parser_.load(path).get(root_);
    if (error != simdjson::SUCCESS) {
      fail({path_, 0, {}}, std::string("cannot be read as JSON: ") + simdjson::error_message(error));
    }
  }

  HuggingFaceFile read() {
    const element model = required(root_, "model");
    const std::string_view type = text(model, "type");
    if (type != "BPE") refuse_kind("model.type", type.empty() ? "none" : type, "only BPE is implemented");
    if (truth(model, "byte_fallback")) {
      refuse_kind("model.byte_fallback", "true", "give the sentencepiece tokenizer.model instead");
    }
    for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      if (!text(model, affix).empty()) refuse_kind(std::string("model.") + affix, text(model, affix));
    }
    HuggingFaceFile file{BytePairs(truth(model, "ignore_merges")), read_split_rule(), read_nfc(), read_added()};
    read_vocabulary(model, file);
    read_merges(model, file.pairs);
    return file;
  }

 private:
  [[noreturn]] void refuse_kind(std::string_view field, std::string_view value, std::string_view hint = {}) const {
    fail({path_, 0, field}, "'" + std::string(value) + "' is not supported", hint);
  }

  element required(element parent, const char* key) const {
    element value;
    if (parent[key].get(value) != simdjson::SUCCESS) {
      fail({path_, 0, key}, "is missing", "expected a Hugging Face tokenizer.json");
    }
    return value;
  }
  // Empty where it is absent or no text.
  static std::string_view text(element parent, const char* key) {
    std::string_view value;
    if (parent[key].get(value) != simdjson::SUCCESS) return {};
    return value;
  }
  static bool truth(element parent, const char* key, bool absent = false) {
    bool value = absent;
    if (parent[key].get(value) != simdjson::SUCCESS) return absent;
    return value;
  }
  // The parts of a Sequence under `list`, or the one thing that is not a Sequence.
  static std::vector<element> parts(element whole, const char* list) {
    if (whole.is_null()) return {};
    simdjson::dom::array items;
    if (text(whole, "type") != "Sequence" || whole[list].get(items) != simdjson::SUCCESS) return {whole};
    return {items.begin(), items.end()};
  }

  bool read_nfc() const {
    element normalizer;
    if (root_["normalizer"].get(normalizer) != simdjson::SUCCESS) return false;
    bool nfc = false;
    for (const element part : parts(normalizer, "normalizers")) {
      if (text(part, "type") != "NFC") refuse_kind("normalizer", text(part, "type"), "only NFC is implemented");
      nfc = true;
    }
    return nfc;
  }

  // Either a ByteLevel with GPT-2's expression, or a Split by a known one and a ByteLevel without.
  SplitRule read_split_rule() const {
    std::optional<SplitRule> rule;
    bool byte_level = false;
    for (const element part : parts(required(root_, "pre_tokenizer"), "pretokenizers")) {
      const std::string_view type = text(part, "type");
      if (type == "ByteLevel" && !byte_level) {
        byte_level = true;
        if (truth(part, "add_prefix_space", true)) refuse_kind("pre_tokenizer.add_prefix_space", "true");
        if (truth(part, "use_regex", true)) {
          if (rule) refuse_kind("pre_tokenizer.use_regex", "true", "after another split");
          rule = SplitRule::kGpt2;
        }
      } else if (type == "Split" && !rule && !byte_level) {
        rule = read_expression(part);
      } else {
        refuse_kind("pre_tokenizer", type, "expected ByteLevel, or Split and ByteLevel");
      }
    }
    if (!rule || !byte_level) refuse_kind("pre_tokenizer", "none", "expected ByteLevel, or Split and ByteLevel");
    return *rule;
  }

  SplitRule read_expression(element split) const {
    element pattern;
    std::string_view expression;
    if (split["pattern"].get(pattern) == simdjson::SUCCESS) expression = text(pattern, "Regex");
    const std::optional<SplitRule> rule = split_rule(expression);
    if (!rule) refuse_kind("pre_tokenizer.pattern", expression, "known are those of GPT-2, Llama-3 and Qwen2");
    if (text(split, "behavior") != "Isolated") refuse_kind("pre_tokenizer.behavior", text(split, "behavior"));
    if (truth(split, "invert")) refuse_kind("pre_tokenizer.invert", "true");
    return *rule;
  }

  std::uint32_t id(element value) const {
    std::uint64_t number = 0;
    if (value.get(number) != simdjson::SUCCESS || number > UINT32_MAX) fail({path_, 0, "id"}, "is not a token id");
    return static_cast<std::uint32_t>(number);
  }

  std::vector<AddedToken> read_added() const {
    std::vector<AddedToken> added;
    simdjson::dom::array tokens;
    if (root_["added_tokens"].get(tokens) != simdjson::SUCCESS) return added;
    for (const element token : tokens) {
      for (const char* option : {"lstrip", "rstrip", "single_word"}) {
        if (truth(token, option)) refuse_kind(std::string("added_tokens.") + option, "true");
      }
      const std::string_view content = text(token, "content");
      if (!content.empty()) added.push_back({std::string(content), id(required(token, "id"))});
    }
    std::stable_sort(added.begin(), added.end(),
                     [](const AddedToken& a, const AddedToken& b) { return a.content.size() > b.content.size(); });
    return added;
  }

  // Entries that are no byte strings are fine where they are added tokens, which some files list here too.
  void read_vocabulary(element model, HuggingFaceFile& file) const {
    simdjson::dom::object vocabulary;
    if (required(model, "vocab").get(vocabulary) != simdjson::SUCCESS) fail({path_, 0, "model.vocab"}, "is no object");
    std::string bytes;
    for (const auto& entry : vocabulary) {
      if (to_bytes(entry.key, bytes)) file.pairs.add_token(bytes, id(entry.value));
    }
    if (const int missing = file.pairs.missing_bytes(); missing > 0) {
      fail({path_, 0, "model.vocab"}, "lacks " + std::to_string(missing) + " of the 256 bytes",
           "expected a byte-level BPE");
    }
  }

  // Each is "left right", or since 2024 ["left", "right"].
  void read_merges(element model, BytePairs& pairs) const {
    simdjson::dom::array merges;
    if (required(model, "merges").get(merges) != simdjson::SUCCESS) fail({path_, 0, "model.merges"}, "is no array");
    std::string left;
    std::string right;
    for (const element merge : merges) {
      const auto [first, second] = sides(merge);
      if (!to_bytes(first, left) || !to_bytes(second, right) || !pairs.add_merge(left, right)) {
        fail({path_, 0, "model.merges"},
             "'" + std::string(first) + " " + std::string(second) + "' joins what is not in the vocabulary");
      }
    }
  }

  std::pair<std::string_view, std::string_view> sides(element merge) const {
    std::string_view whole;
    if (merge.get(whole) == simdjson::SUCCESS) {
      const std::size_t space = whole.find(' ');
      if (space != std::string_view::npos) return {whole.substr(0, space), whole.substr(space + 1)};
    }
    std::string_view left;
    std::string_view right;
    if (merge.at(0).get(left) != simdjson::SUCCESS || merge.at(1).get(right) != simdjson::SUCCESS) {
      fail({path_, 0, "model.merges"}, "holds something other than pairs");
    }
    return {left, right};
  }

  const std::string& path_;
  simdjson::dom::parser parser_;
  element root_;
};

}  // namespace

HuggingFaceFile read_huggingface_file(const std::string& path) { return FileReader(path).read(); }

}  // namespace servecast
