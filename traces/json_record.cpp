#include "traces/json_record.hpp"

#include <simdjson.h>

#include "traces/json_elements.hpp"
#include "traces/numbers.hpp"
#include "traces/prefix_text.hpp"

namespace servecast {

struct JsonRecords::Parsed {
  explicit Parsed(BufferedInput& input) : elements(input) {}

  [[nodiscard]] Where where(std::string_view field = {}) const { return {elements.file(), elements.line(), field}; }

  [[nodiscard]] simdjson::dom::element field(std::string_view key) const {
    simdjson::dom::element value;
    if (object.at_key(key).get(value) != simdjson::SUCCESS) fail(where(key), "is missing");
    return value;
  }

  JsonElements elements;
  std::string padded;
  simdjson::dom::parser parser;
  simdjson::dom::object object;
};

JsonRecords::JsonRecords(BufferedInput& input) : parsed_(std::make_unique<Parsed>(input)) {}
JsonRecords::~JsonRecords() = default;

bool JsonRecords::next() {
  std::string_view text;
  if (!parsed_->elements.next(text)) return false;
  parsed_->padded.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  parsed_->padded.assign(text);
  simdjson::dom::element element;
  const simdjson::error_code error =
      parsed_->parser.parse(parsed_->padded.data(), parsed_->padded.size(), false).get(element);
  if (error != simdjson::SUCCESS) {
    fail(parsed_->where(), std::string("is not valid JSON: ") + simdjson::error_message(error));
  }
  if (element.get(parsed_->object) != simdjson::SUCCESS) fail(parsed_->where(), "expected a JSON object");
  return true;
}

long JsonRecords::line() const { return parsed_->elements.line(); }

std::vector<std::string> JsonRecords::keys() const {
  std::vector<std::string> keys;
  for (const auto& field : parsed_->object) keys.emplace_back(field.key);
  return keys;
}

bool JsonRecords::has(std::string_view key) const { return parsed_->object.at_key(key).error() == simdjson::SUCCESS; }

Tokens JsonRecords::tokens(std::string_view key) const {
  const simdjson::dom::element value = parsed_->field(key);
  std::int64_t number = 0;
  if (value.get(number) == simdjson::SUCCESS) return check_tokens(number, parsed_->where(key));
  if (value.is_uint64()) return parse_tokens(simdjson::to_string(value), parsed_->where(key));
  fail(parsed_->where(key), simdjson::minify(value).substr(0, 40) + " is not a whole number",
       "expected a whole number of tokens");
}

SimTime JsonRecords::instant(std::string_view key, int digits) const {
  const simdjson::dom::element value = parsed_->field(key);
  std::int64_t whole = 0;
  if (value.get(whole) == simdjson::SUCCESS && whole >= 0) {
    return parse_instant(std::to_string(whole), digits, parsed_->where(key));
  }
  double number = 0;
  if (value.get(number) != simdjson::SUCCESS) fail(parsed_->where(key), "is not a number", "expected an instant");
  return check_instant(number, digits, parsed_->where(key));
}

std::uint32_t JsonRecords::id(std::string_view key) const {
  std::uint64_t number = 0;
  if (parsed_->field(key).get(number) != simdjson::SUCCESS || number > UINT32_MAX) {
    fail(parsed_->where(key), "is not an id", "expected a whole number from 0 to 4294967295");
  }
  return static_cast<std::uint32_t>(number);
}

void JsonRecords::blocks(std::string_view key, std::vector<BlockRun>& runs) const {
  runs.clear();
  simdjson::dom::array ids;
  if (parsed_->field(key).get(ids) != simdjson::SUCCESS) fail(parsed_->where(key), "expected an array of block ids");
  for (const simdjson::dom::element value : ids) {
    std::uint64_t number = 0;
    if (value.get(number) != simdjson::SUCCESS || number == UINT64_MAX) {
      fail(parsed_->where(key), "holds something other than block ids", "expected whole numbers from 0");
    }
    append_block(runs, number);
  }
}

}  // namespace servecast
