#include "traces/tokenizers/huggingface.hpp"

#include <algorithm>
#include <bitset>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>

#include "traces/numbers.hpp"
#include "traces/tokenizers/models.hpp"

namespace servecast {
namespace {

std::string to_nfc(std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfc = icu::Normalizer2::getNFCInstance(status);
  std::string normalised;
  icu::StringByteSink<std::string> sink(&normalised);
  if (U_SUCCESS(status)) {
    nfc->normalizeUTF8(0, {text.data(), static_cast<std::int32_t>(text.size())}, sink, nullptr, status);
  }
  if (U_FAILURE(status)) refuse("text", std::string("cannot be normalised: ") + u_errorName(status));
  return normalised;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

class HuggingFaceEncoder : public TextEncoder {
 public:
  explicit HuggingFaceEncoder(const std::string& path)
      : path_(path), file_(read_huggingface_file(path)), words_(file_.rule) {
    for (const AddedToken& token : file_.added) starts_added_.set(static_cast<unsigned char>(token.content[0]));
  }

  std::vector<std::uint32_t> encode(std::string_view text) override {
    std::vector<std::uint32_t> ids;
    for_each_piece(
        text, [&](std::uint32_t added) { ids.push_back(added); },
        [&](std::string_view word) { file_.pairs.encode(word, ids); });
    return ids;
  }

  std::int64_t count(std::string_view text) override {
    std::int64_t tokens = 0;
    for_each_piece(
        text, [&](std::uint32_t) { ++tokens; }, [&](std::string_view word) { tokens += count_word(word); });
    return tokens;
  }

  [[nodiscard]] std::string description() const override { return "counted by tokenizer " + path_; }

 private:
  // The added tokens and, between them, the words.
  template <class OnAdded, class OnWord>
  void for_each_piece(std::string_view text, OnAdded on_added, OnWord on_word) {
    std::size_t plain = 0;
    for (std::size_t at = 0; at < text.size();) {
      const AddedToken* added = added_at(text.substr(at));
      if (added == nullptr) {
        ++at;
        continue;
      }
      split(text.substr(plain, at - plain), on_word);
      on_added(added->id);
      at += added->content.size();
      plain = at;
    }
    split(text.substr(plain), on_word);
  }

  [[nodiscard]] const AddedToken* added_at(std::string_view rest) const {
    if (!starts_added_.test(static_cast<unsigned char>(rest[0]))) return nullptr;
    const auto found = std::find_if(file_.added.begin(), file_.added.end(),
                                    [rest](const AddedToken& token) { return rest.starts_with(token.content); });
    return found == file_.added.end() ? nullptr : &*found;
  }

  template <class OnWord>
  void split(std::string_view text, OnWord on_word) {
    std::string normalised;
    if (file_.nfc && !is_ascii(text)) {
      normalised = to_nfc(text);
      text = normalised;
    }
    words_.start(text);
    std::string_view word;
    while (words_.next(word)) on_word(word);
  }

  // Natural text repeats its words; the cache is emptied when it has grown to some tens of megabytes.
  std::int64_t count_word(std::string_view word) {
    constexpr std::size_t kMostCached = 200'000;
    constexpr std::size_t kLongestCached = 64;
    if (word.size() > kLongestCached) return encoded_size(word);
    const auto [entry, is_new] = counts_.try_emplace(std::string(word), 0);
    if (!is_new) return entry->second;
    const std::int64_t count = encoded_size(word);
    entry->second = count;
    if (counts_.size() > kMostCached) counts_.clear();
    return count;
  }

  std::int64_t encoded_size(std::string_view word) {
    ids_.clear();
    file_.pairs.encode(word, ids_);
    return static_cast<std::int64_t>(ids_.size());
  }

  std::string path_;
  HuggingFaceFile file_;
  WordSplitter words_;
  std::bitset<256> starts_added_;
  std::vector<std::uint32_t> ids_;
  std::unordered_map<std::string, std::int64_t> counts_;
};

}  // namespace

std::unique_ptr<TextEncoder> load_huggingface(const HuggingFaceTokenizer& spec) {
  return std::make_unique<HuggingFaceEncoder>(spec.path);
}

}  // namespace servecast
