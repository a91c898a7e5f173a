#include <doctest/doctest.h>
#include <fstream>

#include "tests/unit/traces/support.hpp"
#include "traces/tokenizers/models.hpp"
#include "traces/tokenizers/split.hpp"

using namespace servecast;

namespace {

using Words = std::vector<std::string>;
using Ids = std::vector<std::uint32_t>;

Words words(SplitRule rule, std::string_view text) {
  WordSplitter splitter(rule);
  splitter.start(text);
  Words found;
  std::string_view word;
  while (splitter.next(word)) found.emplace_back(word);
  return found;
}

std::string utf8(unsigned code) {
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
}

// The 256 bytes under their own numbers, written as GPT-2 does, then the given tokens from 256 on. A space is "Ġ".
std::string vocabulary(const Words& further) {
  std::string json;
  unsigned substitute = 256;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool itself = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    const std::string written = itself ? utf8(byte) : utf8(substitute++);
    const bool escaped = written == "\"" || written == "\\";
    json +=
        (json.empty() ? "" : ",") + std::string("\"") + (escaped ? "\\" : "") + written + "\":" + std::to_string(byte);
  }
  for (std::size_t i = 0; i < further.size(); ++i) json += ",\"" + further[i] + "\":" + std::to_string(256 + i);
  return "{" + json + "}";
}

const std::string kByteLevel = R"({"type":"ByteLevel","add_prefix_space":false})";

struct TokenizerFile {
  std::string pre_tokenizer = kByteLevel;
  std::string normalizer = "null";
  std::string added = "[]";
  std::string type = "BPE";
  std::string more;  // further members of the model
  // l o → 256, lo w → 257, e r → 258, Ġ lo → 259: hence "low" is [257], " low" [259, 'w'].
  Words tokens{"lo", "low", "er", "Ġlo"};
  std::string merges = R"(["l o","Ġ lo","lo w","e r"])";
};

// A file that lives as long as the test case.
class OnDisk {
 public:
  explicit OnDisk(const std::string& text)
      : path_((std::filesystem::temp_directory_path() / "servecast_tokenizer_test.json").string()) {
    std::ofstream(path_) << text;
  }
  explicit OnDisk(const TokenizerFile& file)
      : OnDisk(R"({"normalizer":)" + file.normalizer + R"(,"pre_tokenizer":)" + file.pre_tokenizer +
               R"(,"added_tokens":)" + file.added + R"(,"model":{"type":")" + file.type + "\"" + file.more +
               R"(,"vocab":)" + vocabulary(file.tokens) + R"(,"merges":)" + file.merges + "}}") {}
  ~OnDisk() { std::filesystem::remove(path_); }
  OnDisk(const OnDisk&) = delete;
  OnDisk& operator=(const OnDisk&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Ids encode(const TokenizerFile& file, std::string_view text) {
  const OnDisk on_disk(file);
  const auto encoder = load_huggingface({on_disk.path()});
  const Ids ids = encoder->encode(text);
  CHECK(encoder->count(text) == static_cast<std::int64_t>(ids.size()));
  CHECK(encoder->count(text) == static_cast<std::int64_t>(ids.size()));  // now from the cache
  return ids;
}

std::string load_error(const TokenizerFile& file) {
  const OnDisk on_disk(file);
  const std::string message = message_of([&] { (void)load_huggingface({on_disk.path()}); });
  return message.starts_with(on_disk.path()) ? message.substr(on_disk.path().size()) : message;
}

}  // namespace

// Each expected list is the regular expression of the tokenizer carried out by hand, alternative by alternative.
TEST_CASE("gpt-2 splits letters, digits and the rest, each with the blank before it") {
  CHECK(words(SplitRule::kGpt2, "Hello world's 12345 things!") ==
        Words{"Hello", " world", "'s", " 12345", " things", "!"});
  CHECK(words(SplitRule::kGpt2, "a  b\n\nc \n") == Words{"a", " ", " b", "\n", "\n", "c", " \n"});
  CHECK(words(SplitRule::kGpt2, "\tx it'S don't") == Words{"\t", "x", " it", "'", "S", " don", "'t"});
  CHECK(words(SplitRule::kGpt2, " ¿qué² 漢字, 5½") == Words{" ¿", "qué", "²", " 漢字", ",", " 5½"});
}

TEST_CASE("llama-3 groups digits by three, takes one mark with a word, and keeps line ends together") {
  CHECK(words(SplitRule::kLlama3, "Hello WORLD'S 12345 (things)!\n\n") ==
        Words{"Hello", " WORLD", "'S", " ", "123", "45", " (", "things", ")!\n\n"});
  CHECK(words(SplitRule::kLlama3, "a  b \n\n c\t\td") == Words{"a", " ", " b", " \n\n", " c", "\t", "\td"});
  CHECK(words(SplitRule::kLlama3, "x = f(y);   ") == Words{"x", " =", " f", "(y", ");", "   "});
}

TEST_CASE("qwen takes each digit alone") {
  CHECK(words(SplitRule::kQwen2, "in 2024") == Words{"in", " ", "2", "0", "2", "4"});
}

TEST_CASE("the words of any bytes are those bytes") {
  const std::string text = "a\xFF\xC3 \xE2\x82 b\x80'";
  for (const SplitRule rule : {SplitRule::kGpt2, SplitRule::kLlama3, SplitRule::kQwen2}) {
    std::string joined;
    for (const std::string& word : words(rule, text)) joined += word;
    CHECK(joined == text);
  }
}

TEST_CASE("pairs merge in the order in which they were learnt") {
  CHECK(encode({}, "low") == Ids{257});
  CHECK(encode({}, "lower") == Ids{257, 258});
  // Ġ+lo ranks before lo+w, so the w is left over.
  CHECK(encode({}, " lower") == Ids{259, 'w', 258});
  CHECK(encode({}, "lololow") == Ids{256, 256, 257});
  CHECK(encode({}, "é") == Ids{0xC3, 0xA9});
  CHECK(encode({}, "") == Ids{});
}

TEST_CASE("a word that is a token is taken whole where the file says so") {
  TokenizerFile file;
  file.more = R"(,"ignore_merges":true)";
  file.tokens = {"lo", "low", "er", "Ġlo", "Ġlower"};
  CHECK(encode(file, " lower") == Ids{260});
  file.more.clear();
  CHECK(encode(file, " lower") == Ids{259, 'w', 258});
}

TEST_CASE("merges as pairs are read like merges as strings") {
  TokenizerFile file;
  file.merges = R"([["l","o"],["lo","w"]])";
  CHECK(encode(file, "low low") == Ids{257, ' ', 257});
}

TEST_CASE("added tokens are cut out first, the longest that fits") {
  TokenizerFile file;
  file.added = R"([{"id":300,"content":"<|e|>"},{"id":301,"content":"<|e|><"},{"id":302,"content":"<"}])";
  CHECK(encode(file, "low<|e|>low<|e|><<|x") == Ids{257, 300, 257, 301, 302, '|', 'x'});
}

TEST_CASE("text is brought to NFC where the file says so") {
  TokenizerFile file;
  const std::string decomposed = "e\xCC\x81";  // e and a combining acute accent
  CHECK(encode(file, decomposed) == Ids{'e', 0xCC, 0x81});
  file.normalizer = R"({"type":"NFC"})";
  CHECK(encode(file, decomposed) == Ids{0xC3, 0xA9});
}

TEST_CASE("the split of llama-3 and qwen is found by its expression") {
  const auto with_digits = [](const std::string& digits) {
    TokenizerFile file;
    file.pre_tokenizer =
        R"({"type":"Sequence","pretokenizers":[{"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":)"
        R"("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|)" +
        digits +
        R"(| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},)"
        R"({"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]})";
    file.tokens = {"12"};
    file.merges = R"(["1 2"])";
    return file;
  };
  CHECK(encode(with_digits(R"(\\p{N}{1,3})"), "12") == Ids{256});
  CHECK(encode(with_digits(R"(\\p{N})"), "12") == Ids{'1', '2'});
  CHECK(load_error(with_digits(R"(\\p{N}{1,4})")).ends_with("known are those of GPT-2, Llama-3 and Qwen2"));
}

TEST_CASE("a tokenizer that is not implemented is refused by name") {
  const auto with = [](auto change) {
    TokenizerFile file;
    change(file);
    return load_error(file);
  };
  CHECK(with([](auto& file) { file.type = "Unigram"; }) ==
        ": model.type: 'Unigram' is not supported; only BPE is implemented");
  CHECK(with([](auto& file) { file.more = R"(,"byte_fallback":true)"; }) ==
        ": model.byte_fallback: 'true' is not supported; give the sentencepiece tokenizer.model instead");
  CHECK(with([](auto& file) { file.normalizer = R"({"type":"Lowercase"})"; }) ==
        ": normalizer: 'Lowercase' is not supported; only NFC is implemented");
  CHECK(with([](auto& file) { file.pre_tokenizer = R"({"type":"Metaspace"})"; }) ==
        ": pre_tokenizer: 'Metaspace' is not supported; expected ByteLevel, or Split and ByteLevel");
  CHECK(with([](auto& file) { file.pre_tokenizer = R"({"type":"ByteLevel"})"; }) ==
        ": pre_tokenizer.add_prefix_space: 'true' is not supported");
  CHECK(with([](auto& file) { file.added = R"([{"id":1,"content":"x","lstrip":true}])"; }) ==
        ": added_tokens.lstrip: 'true' is not supported");
  CHECK(with([](auto& file) { file.merges = R"(["l x"])"; }) ==
        ": model.merges: 'l x' joins what is not in the vocabulary");
}

TEST_CASE("a file that is no tokenizer is refused") {
  const OnDisk cut(R"({"model":{"type":"BPE")");
  CHECK(
      message_of([&] { (void)load_huggingface({cut.path()}); }).starts_with(cut.path() + ": cannot be read as JSON: "));
  const OnDisk other("{}");
  CHECK(message_of([&] { (void)load_huggingface({other.path()}); }) ==
        other.path() + ": model: is missing; expected a Hugging Face tokenizer.json");
  const OnDisk small(R"({"pre_tokenizer":)" + kByteLevel + R"(,"model":{"type":"BPE","vocab":{"a":0},"merges":[]}})");
  CHECK(message_of([&] { (void)load_huggingface({small.path()}); }) ==
        small.path() + ": model.vocab: lacks 255 of the 256 bytes; expected a byte-level BPE");
  CHECK(
      message_of([] { (void)load_huggingface({"no/such.json"}); }).starts_with("no/such.json: cannot be read as JSON"));
  CHECK(message_of([] { (void)load_sentencepiece({"no/such.model"}); }) == "no/such.model: cannot be opened");
  CHECK(message_of([&] {
          (void)load_sentencepiece({other.path()});
        }).starts_with(other.path() + ": is not a sentencepiece model"));
  CHECK(message_of([] { (void)make_estimate({0}); }) == "characters_per_token: is out of range; expected 0.1 to 1000");
}

// The model is sentencepiece's own BPE trainer's (vocab_size=18, normalization_rule_name=identity) on 40 times the
// lines "low low lower", "low lowest", "new newer"; its pieces are lo, low, ▁low, er, ew, ▁n and single letters.
TEST_CASE("a sentencepiece model counts its pieces") {
  const std::string path = std::string(SERVECAST_SOURCE_DIR) + "/tests/unit/traces/data/low_lower_newer.model";
  const auto counter = load_sentencepiece({path});
  CHECK(counter->count("low") == 1);       // ▁low
  CHECK(counter->count("lower") == 2);     // ▁low er
  CHECK(counter->count("new low") == 3);   // ▁n ew ▁low
  CHECK(counter->count("lowest x") == 6);  // ▁low e s t ▁ x
  CHECK(counter->count("") == 0);
  CHECK(counter->description() == "counted by sentencepiece model " + path);
}

TEST_CASE("a conversation's tokens are counted by the tokenizer given, and the report names it") {
  const OnDisk file{TokenizerFile{}};
  const auto [trace, report] =
      read_text(R"([{"conversations":[{"from":"human","value":"lower"},{"from":"gpt","value":" low"}]}])",
                {.format = {}, .sort = false, .tokenizer = HuggingFaceTokenizer{file.path()}});
  CHECK(trace.row(0).prompt == Tokens{2});
  CHECK(trace.row(0).output == Tokens{2});
  CHECK(report.tokens == "counted by tokenizer " + file.path());
}
