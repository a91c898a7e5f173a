#include <doctest/doctest.h>

#include "tests/unit/traces/support.hpp"
#include "traces/json_elements.hpp"

using namespace servecast;

namespace {

std::vector<std::string> elements(std::string_view text, std::size_t buffer = 16) {
  const auto source = memory_source(text, "t");
  BufferedInput input(*source, buffer);
  JsonElements elements(input);
  std::vector<std::string> found;
  std::string_view element;
  while (elements.next(element)) found.emplace_back(element);
  return found;
}

std::string elements_error(std::string_view text) {
  return message_of([&] { elements(text); });
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("elements are cut out of an array, of lines, and of anything between") {
  CHECK(elements(R"([{"a":1}, {"b":[{}]}])") == Texts{R"({"a":1})", R"({"b":[{}]})"});
  CHECK(elements("{\"a\":1}\n{\"b\":2}\n\n{\n\"c\":3}") == Texts{R"({"a":1})", R"({"b":2})", "{\n\"c\":3}"});
  CHECK(elements("[]").empty());
  CHECK(elements(R"([{"a":"}]\\\"{["},{}])") == Texts{R"({"a":"}]\\\"{["})", "{}"});
}

TEST_CASE("a cut or malformed JSON file is refused with its line") {
  CHECK(elements_error("[{\"a\":1},\n{\"b\":") ==
        "t:2: the file ends inside the JSON element that starts here; is it truncated?");
  CHECK(elements_error("[{\"a\":1}\n") == "t:2: the file ends inside its JSON array; is it truncated?");
  CHECK(elements_error("[{\"a\":1},") == "t:1: the file ends inside its JSON array; is it truncated?");
  CHECK(elements_error("[{} {}]") == "t:1: expected ',' or ']' between the elements of the JSON array");
  CHECK(elements_error("[{}]\nx") == "t:2: text after the end of the JSON array");
  CHECK(elements_error("[1]") == "t:1: expected a JSON object");
  CHECK(elements_error("{}\nx") == "t:2: expected a JSON object");
}

TEST_CASE("mooncake rows have milliseconds and blocks of 512 tokens") {
  const auto [trace, report] = read_text(
      "{\"timestamp\": 0, \"input_length\": 1100, \"output_length\": 500, \"hash_ids\": [0, 1, 7]}\n"
      "{\"timestamp\": 3052, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [0]}\n");
  CHECK(report.format == "mooncake");
  CHECK(trace.block_size() == Tokens{512});
  REQUIRE(trace.size() == 2);
  CHECK(*trace.row(1).arrival == SimTime{Duration{3'052'000'000}});
  REQUIRE(trace.row(0).prefix.size() == 2);
  CHECK(trace.row(0).prefix[0] == BlockRun{0, 2});
  CHECK(trace.row(0).prefix[1] == BlockRun{7, 1});
}

TEST_CASE("faults of JSON rows are told by line and field") {
  const std::string good = R"({"timestamp": 5, "input_length": 10, "output_length": 2, "hash_ids": [0]})"
                           "\n";
  const auto with = [&good](const std::string& row) { return read_error(good + row); };
  CHECK(with(R"({"timestamp": 6, "input_length": 10})") == "t:2: output_length: is missing");
  CHECK(with(R"({"timestamp": 6, "input_length": -1, "output_length": 2})") ==
        "t:2: input_length: -1 is negative; expected a whole number of tokens");
  CHECK(with(R"({"timestamp": 6, "input_length": 1.5, "output_length": 2})") ==
        "t:2: input_length: 1.5 is not a whole number; expected a whole number of tokens");
  CHECK(with(R"({"timestamp": 6, "input_length": "9", "output_length": 2})") ==
        "t:2: input_length: \"9\" is not a whole number; expected a whole number of tokens");
  CHECK(with(R"({"timestamp": 6, "input_length": 1000000000000000000, "output_length": 2})") ==
        "t:2: input_length: 1000000000000000000 tokens in one request; at most 2147483647 are accepted");
  CHECK(with(R"({"timestamp": 6, "input_length": 18446744073709551615, "output_length": 2})") ==
        "t:2: input_length: '18446744073709551615' tokens in one request; at most 2147483647 are accepted");
  CHECK(with(R"({"timestamp": NaN, "input_length": 1, "output_length": 2})").starts_with("t:2: is not valid JSON: "));
  CHECK(with(R"({"timestamp": -6, "input_length": 1, "output_length": 2})") ==
        "t:2: timestamp: is negative; an arrival cannot come before the start");
  CHECK(with(R"({"timestamp": 4, "input_length": 1, "output_length": 2})")
            .starts_with("t:2: arrives before the request of line 1"));
  CHECK(with(R"({"timestamp": 6, "input_length": 1, "output_length": 2, "hash_ids": [-1]})")
            .starts_with("t:2: hash_ids: holds something other than block ids"));
  CHECK(with(R"({"timestamp": 6, "input_length": 513, "output_length": 2, "hash_ids": [0, 1, 2]})") ==
        "t:2: more prefix blocks than the prompt fills: 513 tokens fill 2 blocks of 512");
  CHECK(with(R"({"timestamp": 6, "input_l)") ==
        "t:2: the file ends inside the JSON element that starts here; is it truncated?");
  CHECK(with("[1]") == "t:2: expected a JSON object");
}

TEST_CASE("our own JSON lines hold what our CSV holds") {
  const auto [trace, report] = read_text(
      R"({"arrival_s":0.046926808,"prompt_tokens":40,"output_tokens":7,"session":3,"turn":0,"prefix_block16_ids":[1,2,9]})"
      "\n"
      R"({"arrival_ns":1500000000,"prompt_tokens":32,"output_tokens":8,"session":3,"turn":1})");
  CHECK(report.format == "servecast-jsonl");
  REQUIRE(trace.size() == 2);
  CHECK(*trace.row(0).arrival == SimTime{Duration{46'926'808}});
  CHECK(*trace.row(1).arrival == SimTime{Duration{1'500'000'000}});
  CHECK(trace.row(0).prefix.size() == 2);
  CHECK(trace.row(1).turn == 1);
  CHECK(read_error(R"({"prompt_tokens":1,"output_tokens":1,"promt":2})").starts_with("t:1: promt: unknown key"));
  CHECK(read_error(
            "{\"arrival_s\":1,\"prompt_tokens\":1,\"output_tokens\":1}\n{\"prompt_tokens\":1,\"output_tokens\":1}") ==
        "t:2: has no arrival, unlike the rows before it");
}

TEST_CASE("a vllm bench result gives its requests, and its failed ones are counted") {
  const auto [trace, report] = read_text(
      R"({"backend": "vllm", "input_lens": [13, 25, 27], "output_lens": [120, 0, 81], "itls": [[0.1, 0.2], [], []],
          "start_times": [1000.5, 1000.75, 1001.5], "errors": ["", "timed out", ""], "duration": 5.0})");
  CHECK(report.format == "vllm-bench");
  CHECK(dropped(report, "failed request") == 1);
  REQUIRE(trace.size() == 2);
  CHECK(*trace.row(0).arrival == kStart);
  CHECK(*trace.row(1).arrival == SimTime{std::chrono::seconds{1}});
  CHECK(trace.row(1).output == Tokens{81});
}

TEST_CASE("a vllm bench result without start times has lengths only") {
  const auto [trace, report] = read_text(R"({"input_lens": [13], "output_lens": [120]})");
  CHECK_FALSE(trace.has_arrivals());
  CHECK(report.notes == std::vector<std::string>{"the file records no start times"});
}

TEST_CASE("a damaged vllm bench result is refused") {
  CHECK(read_error(R"({"input_lens": [13, 4], "output_lens": [120]})") ==
        "t: output_lens: holds 1 values; input_lens holds 2");
  CHECK(read_error("{\"input_lens\": [1],\n\"output_lens\": [1.5]}") ==
        "t:2: output_lens: '1.5' is not a whole number; expected a whole number of tokens");
  CHECK(read_error(R"({"input_lens": ["1"], "output_lens": [1]})") ==
        "t:1: input_lens: holds something other than numbers");
  CHECK(read_error(R"({"input_lens": [1], "output_lens": [-1]})") ==
        "t:1: output_lens: -1 is negative; expected a whole number of tokens");
  CHECK(read_error("{\"input_lens\": [1],\n\"output_lens\": [1").starts_with("t:2: is not valid JSON: "));
  CHECK(read_error(R"({"input_lens": [1, 1], "output_lens": [1, 1], "start_times": [2, 1]})") ==
        "t: start_times: request 1 (from 0) starts before the one before it; "
        "`sort: true` accepts a trace that is out of order");
}
