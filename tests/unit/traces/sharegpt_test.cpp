#include <cstdlib>
#include <doctest/doctest.h>
#include <fstream>
#include <sys/resource.h>

#include "tests/unit/traces/support.hpp"

using namespace servecast;

namespace {

// One token a character, so that lengths can be read off the texts.
ReadOptions by_character() { return {.format = {}, .sort = false, .tokenizer = CharactersPerToken{1}}; }

using Lengths = std::vector<std::pair<std::int64_t, std::int64_t>>;

Lengths lengths_of(const Trace& trace) {
  Lengths lengths;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    lengths.emplace_back(trace.row(i).prompt.count(), trace.row(i).output.count());
  }
  return lengths;
}

Lengths read_lengths(std::string_view text) { return lengths_of(read_text(text, by_character()).trace); }

}  // namespace

TEST_CASE("every answer of a conversation is a request whose prompt holds the history") {
  const auto [trace, report] = read_text(
      R"([{"id":"a","conversations":[{"from":"system","value":"sys"},{"from":"human","value":"12345"},
          {"from":"gpt","value":"1234567"},{"from":"human","value":"12"},{"from":"gpt","value":"1"}]},
          {"id":"b","conversations":[{"from":"human","value":"1"},{"from":"gpt","value":"12"}]}])",
      by_character());
  CHECK(report.format == "sharegpt");
  CHECK(report.tokens == "estimated at 1 characters per token");
  CHECK(lengths_of(trace) == Lengths{{8, 7}, {17, 1}, {1, 2}});
  CHECK(trace.row(1).session == 0u);
  CHECK(trace.row(1).turn == 1);
  CHECK(trace.row(2).session == 1u);
  CHECK(trace.row(2).turn == 0);
  CHECK_FALSE(trace.has_arrivals());
}

TEST_CASE("the other layouts of conversations are read as well") {
  const Lengths expected{{2, 3}};
  CHECK(read_lengths(R"([{"conversation":[{"role":"user","content":"12"},{"role":"assistant","content":"123"}]}])") ==
        expected);
  CHECK(read_lengths(R"([{"items":[{"from":"human","value":"12"},{"from":"gpt","value":"123"}]}])") == expected);
  CHECK(read_lengths(R"({"messages":[{"role":"user","content":"12"},{"role":"assistant","content":"123"}]})") ==
        expected);
  CHECK(read_lengths(R"([{"conversation":[{"human":"12","assistant":"123"}]}])") == expected);
  CHECK(read_lengths(
            R"([{"messages":[{"role":"user","content":[{"type":"text","text":"1"},{"type":"text","text":"2"}]},
                             {"role":"assistant","content":"123"}]}])") == expected);
}

TEST_CASE("what is no request in a conversation is dropped, counted, and kept in the history") {
  const auto [trace, report] = read_text(
      R"([{"conversations":[]},
          {"conversations":[{"from":"gpt","value":"123"},{"from":"human","value":"1"},{"from":"gpt","value":"12"},
                            {"from":"gpt","value":"1"},{"from":"human","value":"1"},{"from":"gpt","value":"1"},
                            {"from":"human","value":"?"}]},
          {"conversations":[{"from":"human","value":"1"},{"from":"gpt","value":""}]}])",
      by_character());
  CHECK(lengths_of(trace) == Lengths{{4, 2}, {8, 1}});
  CHECK(report.rows_read == 7);
  CHECK(dropped(report, "conversation without messages") == 1);
  CHECK(dropped(report, "answer without a question") == 2);
  CHECK(dropped(report, "question without an answer") == 1);
  CHECK(dropped(report, "zero-length output") == 1);
}

TEST_CASE("characters are counted, not bytes, and the default estimate is said with the results") {
  const auto [trace, report] =
      read_text(R"([{"conversations":[{"from":"human","value":"äöüß¿"},{"from":"gpt","value":"1234"}]}])");
  CHECK(lengths_of(trace) == Lengths{{2, 1}});  // five characters begin two tokens of four
  CHECK(report.tokens == "estimated at 4 characters per token");
}

TEST_CASE("half a surrogate pair does not end the reading") {
  const auto [trace, report] = read_text(
      R"([{"conversations":[{"from":"human","value":"\ud83d\ude00 \\ud83d \ud83d"},{"from":"gpt","value":"\ude00!"}]}])",
      by_character());
  CHECK(lengths_of(trace) == Lengths{{10, 2}});
  CHECK(report.notes.back() == "2 halves of surrogate pairs replaced by U+FFFD");
}

TEST_CASE("a file that is not ShareGPT, or is cut short, is refused with its line") {
  CHECK(read_error("[{\"conversations\":[{\"from\":\"human\",\"value\":\"1\"},\n{\"from\":\"gpt\",\"val") ==
        "t:1: the file ends inside the JSON element that starts here; is it truncated?");
  CHECK(read_error("[{\"conversations\":[]},\n{\"id\":1}]") ==
        "t:2: holds no conversation; expected `conversations`, `conversation`, `items` or `messages`");
  CHECK(read_error(R"([{"conversations":[{"value":"1"}]}])") ==
        "t:1: a message has no speaker; expected {from, value}, {role, content} or {human, assistant}");
  CHECK(read_error(R"([{"conversations":[{"from":"human"}]}])") == "t:1: value: is missing from a message");
  CHECK(read_error(R"([{"conversations":[{"from":"human","value":7}]}])") == "t:1: value: expected a text");
  CHECK(read_error(R"([{"conversations":{}}])") == "t:1: conversations: expected an array of messages");
  CHECK(read_error(R"([{"conversations":[]}])") == "t: holds no request; dropped: 1 conversation without messages");
  CHECK(read_error(R"([{"conversations":[}]])").starts_with("t:1: "));
}

TEST_CASE("a large ShareGPT file streams: memory grows by less than a quarter of it") {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "servecast_large_sharegpt.json";
  {
    std::ofstream file(path);
    const std::string text(1000, 'x');
    file << "[";
    for (int i = 0; i < 20'000; ++i) {
      file << (i == 0 ? "" : ",\n") << R"({"id":")" << i << R"(","conversations":[{"from":"human","value":")" << text
           << R"("},{"from":"gpt","value":")" << text << R"("}]})";
    }
    file << "]";
  }
  const auto peak_kib = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const auto file_kib = static_cast<long>(std::filesystem::file_size(path) / 1024);
  REQUIRE(file_kib > 39'000);
  const long before = peak_kib();
  const auto [trace, report] = read_trace(path.string());
  CHECK(trace.size() == 20'000);
  CHECK(peak_kib() - before < file_kib / 4);
  std::filesystem::remove(path);
}
