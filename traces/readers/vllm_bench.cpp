// The result of `vllm bench serve --save-detailed`: one object whose arrays input_lens and output_lens hold a
// number a request, in send order; newer versions add start_times (seconds on the client's clock). The file may
// hold hundreds of megabytes of texts and gaps, so it is parsed as a stream of events.
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "traces/numbers.hpp"
#include "traces/readers/readers.hpp"

namespace servecast::readers {
namespace {

// Feeds a parser byte by byte, and counts lines for the places of errors.
class Bytes {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  Bytes() = default;
  Bytes(BufferedInput& input, long& line) : input_(&input), line_(&line) {}
  char operator*() const { return static_cast<char>(input_->peek_char()); }
  Bytes& operator++() {
    *line_ += input_->peek_char() == '\n' ? 1 : 0;
    input_->skip(1);
    return *this;
  }
  // Only comparison with the end has a meaning.
  bool operator==(const Bytes&) const { return input_->peek_char() < 0; }
  bool operator!=(const Bytes& other) const { return !(*this == other); }

 private:
  BufferedInput* input_ = nullptr;
  long* line_ = nullptr;
};

// Keeps the arrays that make requests, and lets everything else pass.
class Collector : public nlohmann::json_sax<nlohmann::json> {
 public:
  Collector(const std::string& file, const long& line) : file_(file), line_(line) {}

  std::vector<std::uint32_t> prompts;
  std::vector<std::uint32_t> outputs;
  std::vector<SimTime> starts;
  std::vector<bool> failed;

  bool null() override { return wanted(), true; }
  bool boolean(bool) override { return wanted(), true; }
  bool number_integer(number_integer_t value) override { return number(value), true; }
  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<std::int64_t>(std::min<number_unsigned_t>(value, INT64_MAX))), true;
  }
  bool number_float(number_float_t value, const string_t& text) override {
    if (!in_array()) return true;
    if (key_ == "start_times") starts.push_back(check_instant(value, 0, where()));
    else if (is_length()) fail(where(), "'" + text + "' is not a whole number", "expected a whole number of tokens");
    return true;
  }
  bool string(string_t& text) override {
    if (in_array() && key_ == "errors") failed.push_back(!text.empty());
    else wanted();
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return wanted(), ++depth_, true; }
  bool end_object() override { return --depth_, true; }
  bool start_array(std::size_t) override { return wanted(), ++depth_, true; }
  bool end_array() override { return --depth_, true; }
  bool key(string_t& name) override {
    if (depth_ == 1) key_ = name;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    fail({file_, line_, {}}, std::string("is not valid JSON: ") + error.what());
  }

 private:
  [[nodiscard]] Where where() const { return {file_, line_, key_}; }
  // Directly inside the array of the current top-level key.
  [[nodiscard]] bool in_array() const { return depth_ == 2; }
  [[nodiscard]] bool is_length() const { return key_ == "input_lens" || key_ == "output_lens"; }

  // Refuses a value that is no number where a number should be.
  void wanted() const {
    if (in_array() && (is_length() || key_ == "start_times")) fail(where(), "holds something other than numbers");
  }
  void number(std::int64_t value) {
    if (!in_array()) return;
    if (key_ == "start_times") starts.push_back(check_instant(static_cast<double>(value), 0, where()));
    if (!is_length()) return;
    const Tokens tokens = check_tokens(value, where());
    (key_ == "input_lens" ? prompts : outputs).push_back(static_cast<std::uint32_t>(tokens.count()));
  }

  const std::string& file_;
  const long& line_;
  std::string key_;
  long depth_ = 0;
};

void check_size(std::size_t size, std::size_t wanted, const std::string& file, std::string_view key) {
  if (size == wanted) return;
  fail({file, 0, key}, "holds " + std::to_string(size) + " values", "input_lens holds " + std::to_string(wanted));
}

// Requests have numbers here, not lines.
void check_order(const std::vector<SimTime>& starts, const std::string& file) {
  const auto late = std::is_sorted_until(starts.begin(), starts.end());
  if (late == starts.end()) return;
  const std::string request = std::to_string(late - starts.begin());
  fail({file, 0, "start_times"}, "request " + request + " (from 0) starts before the one before it",
       "`sort: true` accepts a trace that is out of order");
}

}  // namespace

void read_vllm_bench(BufferedInput& input, const ReadOptions& options, RowChecker& rows) {
  long line = 1;
  Collector found(input.name(), line);
  nlohmann::json::sax_parse(Bytes(input, line), Bytes(), &found);
  const std::size_t count = found.prompts.size();
  check_size(found.outputs.size(), count, input.name(), "output_lens");
  if (!found.starts.empty()) check_size(found.starts.size(), count, input.name(), "start_times");
  if (!found.failed.empty()) check_size(found.failed.size(), count, input.name(), "errors");
  if (!options.sort) check_order(found.starts, input.name());
  for (std::size_t i = 0; i < count; ++i) {
    if (!found.failed.empty() && found.failed[i]) {
      rows.drop("failed request");
      continue;
    }
    TraceRow row;
    row.prompt = Tokens{found.prompts[i]};
    row.output = Tokens{found.outputs[i]};
    if (!found.starts.empty()) row.arrival = found.starts[i];
    rows.add(row, 0);
  }
  if (found.starts.empty()) rows.note("the file records no start times");
}

}  // namespace servecast::readers
