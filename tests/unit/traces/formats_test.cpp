#include <doctest/doctest.h>
#include <fstream>

#include "tests/unit/traces/support.hpp"

using namespace servecast;

TEST_CASE("our own CSV holds arrivals, lengths, sessions and prefixes") {
  const auto [trace, report] = read_text(
      "# by hand\narrival_s,prompt_tokens,output_tokens,session,turn,prefix_block16_ids\n"
      "0.000000001,40,7,3,0,1-2 9\n1.5,32,8,3,1,\n");
  CHECK(report.format == "servecast-csv");
  CHECK(report.tokens == "as recorded");
  REQUIRE(trace.size() == 2);
  CHECK(*trace.row(0).arrival == SimTime{Duration{1}});
  CHECK(*trace.row(1).arrival == SimTime{Duration{1'500'000'000}});
  CHECK(trace.row(0).session == 3u);
  CHECK(trace.row(1).turn == 1);
  CHECK(trace.block_size() == Tokens{16});
  REQUIRE(trace.row(0).prefix.size() == 2);
  CHECK(trace.row(0).prefix[0] == BlockRun{1, 2});
  CHECK(trace.row(1).prefix.empty());
}

TEST_CASE("faults of our own CSV are told by line and field") {
  CHECK(read_error("prompt_tokens,output_tokens,sesion\n1,1,1\n") ==
        "t:1: sesion: unknown column; did you mean 'session'?");
  CHECK(read_error("prompt_tokens,output_tokens,turn\n1,1,1\n") == "t:1: turn: turns need a session column");
  CHECK(read_error("prompt_tokens,output_tokens,arrival_s,arrival_ns\n1,1,1,1\n") ==
        "t:1: arrival_ns: the arrival is given twice");
  CHECK(read_error("prompt_tokens,output_tokens\n1,x\n") ==
        "t:2: output_tokens: 'x' is not a number; expected a whole number of tokens");
  CHECK(read_error("prompt_tokens,output_tokens,session\n1,1,-1\n") ==
        "t:2: session: '-1' is not an id; expected a whole number from 0 to 4294967295");
  CHECK(read_error("prompt_tokens,output_tokens,prefix_block16_ids\n16,1,9-7\n") ==
        "t:2: prefix_block16_ids: a range of prefix blocks runs backwards; expected first-last");
  CHECK(read_error("prompt_tokens,output_tokens,prefix_block16_ids\n17,1,1-3\n") ==
        "t:2: more prefix blocks than the prompt fills: 17 tokens fill 2 blocks of 16");
}

TEST_CASE("requests without a prompt or an answer are dropped and counted") {
  const auto [trace, report] = read_text("prompt_tokens,output_tokens\n0,5\n5,0\n7,7\n0,0\n");
  CHECK(trace.size() == 1);
  CHECK(report.rows_read == 4);
  CHECK(report.rows_kept == 1);
  CHECK(dropped(report, "zero-length prompt") == 2);
  CHECK(dropped(report, "zero-length output") == 1);
  CHECK(report.rows_dropped() == 3);
}

TEST_CASE("a trace without a request is an error that says what became of its rows") {
  CHECK(read_error("") == "t: is empty");
  CHECK(read_error(" \n") == "t: is empty");
  CHECK(read_error("prompt_tokens,output_tokens\n") == "t: holds no request");
  CHECK(read_error("prompt_tokens,output_tokens\n0,1\n1,0\n") ==
        "t: holds no request; dropped: 1 zero-length prompt, 1 zero-length output");
}

TEST_CASE("arrivals out of order are an error that names both lines, unless sorting is asked for") {
  const std::string text = "arrival_s,prompt_tokens,output_tokens\n2,20,1\n3,30,1\n1,10,1\n";
  CHECK(read_error(text) ==
        "t:4: arrives before the request of line 3; `sort: true` accepts a trace that is out of order");
  const Trace sorted = read_text(text, {.format = {}, .sort = true, .tokenizer = {}}).trace;
  CHECK(sorted.row(0).prompt == Tokens{10});
  CHECK(sorted.row(2).prompt == Tokens{30});
}

TEST_CASE("an unknown format is told with the known ones, a misspelt one with a suggestion") {
  CHECK(read_error("x,y\n1,2\n").starts_with("t: is in no known trace format; known are: servecast-csv, "));
  CHECK(read_error("x,y\n1,2\n", {.format = "azur", .sort = false, .tokenizer = {}}) ==
        "t: unknown trace format 'azur'; did you mean 'azure'?");
  CHECK(read_error("prompt_tokens,output_tokens\n1,2\n", {.format = "azure", .sort = false, .tokenizer = {}}) ==
        "t: TIMESTAMP: the column is missing; the header has: prompt_tokens, output_tokens");
}

TEST_CASE("a file that is not there, or is a folder, is named") {
  CHECK(message_of([] { (void)read_trace("no/such/trace.csv"); }) ==
        "no/such/trace.csv: cannot be opened: No such file or directory");
  CHECK(message_of([] { (void)read_trace("/"); }) == "/: is a folder, not a trace");
}

TEST_CASE("azure timestamps are read to 100 ns and count from the first row") {
  const std::string text =
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10\r\n"
      "2023-11-16 18:17:04.0319601,3180,8\r\n2023-11-17 00:00:00,1,1";
  const auto [trace, report] = read_text(text);
  CHECK(report.format == "azure");
  REQUIRE(trace.size() == 3);
  CHECK(*trace.row(0).arrival == kStart);
  CHECK(*trace.row(1).arrival == SimTime{Duration{52'000'100}});
  CHECK(*trace.row(2).arrival == SimTime{Duration{20'576'020'040'000}});
  const Trace zoned = read_text(
                          "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,1,1\n"
                          "2024-05-10T00:00:01.009930Z,1,1\n")
                          .trace;
  CHECK(*zoned.row(1).arrival == SimTime{std::chrono::seconds{1}});
}

TEST_CASE("a timestamp that is none is refused") {
  const auto with = [](const std::string& timestamp) {
    return read_error("TIMESTAMP,ContextTokens,GeneratedTokens\n" + timestamp + ",1,1\n");
  };
  CHECK(with("yesterday") == "t:2: TIMESTAMP: is not a timestamp; expected YYYY-MM-DD hh:mm:ss.fffffff");
  CHECK(with("2023-02-30 00:00:00") == "t:2: TIMESTAMP: is not a date and time; expected YYYY-MM-DD hh:mm:ss.fffffff");
  CHECK(with("2023-02-03 00:00:61").starts_with("t:2: TIMESTAMP: is not a date and time"));
  CHECK(with("2023-02").starts_with("t:2: TIMESTAMP: the timestamp is too short"));
  CHECK(with("2023-02-03 00:00:00.1x").starts_with("t:2: TIMESTAMP: "));
}

TEST_CASE("burstgpt rows are read, and failed requests are counted as dropped") {
  const auto [trace, report] = read_text(
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,472,18,490,Conversation log\n45.5,GPT-4,1087,230,1317,API log\n46,ChatGPT,10,0,10,Conversation log\n");
  CHECK(report.format == "burstgpt");
  CHECK(dropped(report, "zero-length output") == 1);
  REQUIRE(trace.size() == 2);
  CHECK(*trace.row(1).arrival == SimTime{Duration{45'500'000'000}});
  CHECK(trace.row(1).output == Tokens{230});
}

TEST_CASE("vidur lengths have no arrivals, unless the file has them") {
  const auto [trace, report] =
      read_text("num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n3772,54,3826,69.85\n");
  CHECK(report.format == "vidur");
  CHECK_FALSE(trace.has_arrivals());
  CHECK(trace.row(0).prompt == Tokens{3772});
  CHECK(read_text("arrived_at,num_prefill_tokens,num_decode_tokens\n0.25,7,8\n").trace.row(0).arrival ==
        SimTime{Duration{250'000'000}});
}

TEST_CASE("llmservingsim and apex-plus rows come at their nanosecond") {
  const auto [trace, report] =
      read_text("arrival_ns,input_tokens,output_tokens,prefix_block16_ids\n46926808,85,416,1-5\n347938951,9,333,\n");
  CHECK(report.format == "llmservingsim");
  CHECK(*trace.row(1).arrival == SimTime{Duration{347'938'951}});
  CHECK(trace.row(0).prefix[0] == BlockRun{1, 5});
  const auto apex = read_text("request_id,arrival_ns,input_tokens,output_tokens\nee7aaa43f556,2098471872,2457,79\n");
  CHECK(apex.report.format == "apex-plus");
  CHECK(apex.trace.row(0).prompt == Tokens{2457});
}
