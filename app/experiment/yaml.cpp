#include <fstream>
#include <sstream>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "app/experiment/node.hpp"

namespace servecast::experiments {
namespace {

// Far beyond any experiment; they stop aliases that refer to themselves or multiply.
constexpr int kMostDepth = 40;
constexpr int kMostNodes = 200'000;
constexpr std::size_t kMostBytes = std::size_t{8} << 20;

class Converter {
 public:
  Converter(std::shared_ptr<const std::string> file, bool with_lines)
      : file_(std::move(file)), with_lines_(with_lines) {}

  // `line` is of the key in front: yaml-cpp places an empty value where the next token is.
  Node convert(const YAML::Node& yaml, int depth, long line) {
    Node node = empty_node(Node::Kind::kNull, file_, yaml.IsNull() ? line : line_of(yaml));
    if (depth > kMostDepth) fail(node, "is nested more than " + std::to_string(kMostDepth) + " deep");
    if (++nodes_ > kMostNodes) fail(node, "has more than " + std::to_string(kMostNodes) + " values");
    const std::string& tag = yaml.Tag();
    if (!tag.empty() && tag != "?" && tag != "!") fail(node, "the tag '" + tag + "' has no meaning here");
    if (yaml.IsScalar()) {
      node.kind = Node::Kind::kScalar;
      node.text = yaml.Scalar();
      node.quoted = tag == "!";
    } else if (yaml.IsSequence()) {
      node.kind = Node::Kind::kList;
      for (const YAML::Node& item : yaml) node.items.push_back(convert(item, depth + 1, node.line));
    } else if (yaml.IsMap()) {
      node.kind = Node::Kind::kMap;
      for (const auto& pair : yaml) {
        const YAML::Node& key = pair.first;
        if (!key.IsScalar()) fail(node, "has a key that is not text");
        node.entries.push_back({key.Scalar(), line_of(key), convert(pair.second, depth + 1, line_of(key))});
      }
    }
    return node;
  }

 private:
  [[nodiscard]] long line_of(const YAML::Node& yaml) const {
    return with_lines_ && yaml.Mark().line >= 0 ? yaml.Mark().line + 1 : 0;
  }
  [[noreturn]] static void fail(const Node& node, const std::string& problem) {
    throw InputError(node.place({}), problem);
  }

  std::shared_ptr<const std::string> file_;
  bool with_lines_;
  int nodes_ = 0;
};

class Ignore final : public YAML::EventHandler {
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// Whether more follows the first document, which YAML::Load would drop without a word. (YAML::LoadAll does not
// end on some input that begins with a stray ',': it reads empty documents for ever.)
bool has_more_documents(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Ignore ignore;
  return parser.HandleNextDocument(ignore) && parser.HandleNextDocument(ignore);
}

// Whole characters only, none written longer than needed, no surrogates (RFC 3629).
bool is_utf8(const std::string& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned first = byte(i);
    const std::size_t length = first < 0x80   ? 1
                               : first < 0xC2 ? 0
                               : first < 0xE0 ? 2
                               : first < 0xF0 ? 3
                               : first < 0xF5 ? 4
                                              : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if ((byte(i + k) & 0xC0U) != 0x80U) return false;
    }
    const unsigned second = length > 1 ? byte(i + 1) : 0U;
    const bool too_long = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
    const bool no_character = (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
    if (too_long || no_character) return false;
    i += length;
  }
  return true;
}

}  // namespace

Node parse_yaml(const std::string& text, const std::string& file, bool with_lines) {
  if (!is_utf8(text)) throw InputError({file, 0, {}}, "is not UTF-8 text");
  try {
    if (has_more_documents(text)) throw InputError({file, 0, {}}, "is not one YAML document");
    Converter converter(std::make_shared<const std::string>(file), with_lines);
    return converter.convert(YAML::Load(text), 0, with_lines ? 1 : 0);
  } catch (const YAML::Exception& error) {
    const long line = with_lines && error.mark.line >= 0 ? error.mark.line + 1 : 0;
    throw InputError({file, line, {}}, "is not YAML: " + error.msg);
  }
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::error_code ignored;
  if (!stream || std::filesystem::is_directory(file, ignored)) {
    throw InputError({file.string(), 0, {}}, "cannot be read", "expected an experiment file");
  }
  std::string text;
  text.resize(kMostBytes + 1);
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kMostBytes) throw InputError({file.string(), 0, {}}, "is larger than 8 MiB");
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 && c != '\n' && c != '\r' && c != '\t') {
      throw InputError({file.string(), 0, {}}, "is not a text file", "expected YAML");
    }
  }
  return text;
}

}  // namespace servecast::experiments
