#include <cstdlib>
#include <doctest/doctest.h>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "app/experiment/keys.hpp"
#include "costmodel/dtype.hpp"
#include "tests/unit/app/experiment_support.hpp"

using namespace servecast;
using experiments::Key;

namespace {

const char* const kDocument = SERVECAST_SOURCE_DIR "/docs/experiments.md";
const std::string kBegin = "<!-- begin of the reference, generated -->\n\n";
const std::string kEnd = "<!-- end of the reference -->\n";

std::string read(const char* path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// The document with what stands between its marks replaced.
std::string with_reference(const std::string& document) {
  const std::size_t begin = document.find(kBegin);
  const std::size_t end = document.find(kEnd);
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  return document.substr(0, begin + kBegin.size()) + experiment_reference_markdown() + document.substr(end);
}

void each_key(const std::function<void(const Key&, const std::string&)>& visit) {
  experiments::for_each_key(experiments::experiment_keys(), visit);
}

bool is_map(const Key& key) {
  return key.kind == Key::Kind::kMap || key.kind == Key::Kind::kOneOf || key.kind == Key::Kind::kSweep;
}

}  // namespace

TEST_CASE("the reference in docs/experiments.md is what the keys say") {
  const std::string document = read(kDocument);
  const std::string renewed = with_reference(document);
  if (std::getenv("SERVECAST_RENEW_DOCS") != nullptr) std::ofstream(kDocument, std::ios::binary) << renewed;
  INFO("run this test with SERVECAST_RENEW_DOCS=1 to write it anew");
  CHECK((document == renewed));
}

TEST_CASE("every key is described, and every value goes somewhere") {
  std::set<std::string> paths;
  each_key([&](const Key& key, const std::string& path) {
    CAPTURE(path);
    CHECK(paths.insert(path).second);
    CHECK(key.about.ends_with('.'));
    CHECK((is_map(key) || key.assign || path == "servecast"));
    CHECK((!key.alternative || key.kind != Key::Kind::kMap || key.assign));
    CHECK_FALSE((key.required && !key.fallback.empty()));
    CHECK(key.applies_where.empty() == !key.applies);
  });
  CHECK(paths.size() > 120);
}

TEST_CASE("every number format that can be chosen is one of the cost model's") {
  each_key([](const Key& key, const std::string& path) {
    if (!path.ends_with("_dtype")) return;
    for (const std::string& name : key.choices) CHECK(dtype_name(parse_dtype(name)) == name);
  });
}

TEST_CASE("the JSON Schema is draft 2020-12, closed, and knows every key") {
  const auto schema = nlohmann::json::parse(experiment_json_schema());
  CHECK(schema.at("$schema") == "https://json-schema.org/draft/2020-12/schema");
  CHECK(schema.at("additionalProperties") == false);
  const auto& definitions = schema.at("$defs");
  std::size_t keys = 0;
  each_key([&](const Key& key, const std::string& path) {
    CAPTURE(path);
    ++keys;
    REQUIRE(definitions.contains(path));
    const auto& entry = definitions.at(path);
    CHECK_FALSE(entry.at("description").get<std::string>().empty());
    if (key.kind == Key::Kind::kChoice) CHECK(entry.at("enum") == key.choices);
    if (key.kind == Key::Kind::kNumber) {
      const auto& number = key.word.empty() ? entry : entry.at("anyOf").at(1);
      CHECK(number.at("maximum") == key.numbers.most);
      if (!key.word.empty()) CHECK(entry.at("anyOf").at(0).at("const") == key.word);
    }
    if (key.kind == Key::Kind::kMap && key.shorthand.empty()) {
      const auto& map = key.listable ? entry.at("anyOf").at(0) : entry;
      CHECK(map.at("additionalProperties") == false);
      if (key.listable) CHECK(entry.at("anyOf").at(1).at("items") == map);
    }
  });
  CHECK(definitions.size() == keys);
}

TEST_CASE("every reference within the JSON Schema leads somewhere") {
  const auto schema = nlohmann::json::parse(experiment_json_schema());
  const auto flat = schema.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    if (pointer.ends_with("/$ref"))
      CHECK(schema.contains(nlohmann::json::json_pointer(value.get<std::string>().substr(1))));
  }
}
