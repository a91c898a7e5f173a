#include "traces/trace.hpp"

#include <doctest/doctest.h>

using namespace servecast;

namespace {

TraceRow lengths(std::int64_t prompt, std::int64_t output) {
  return {.arrival = {}, .prompt = Tokens{prompt}, .output = Tokens{output}, .session = {}, .turn = 0, .prefix = {}};
}

TraceRow arriving(std::int64_t at, std::int64_t prompt, std::span<const BlockRun> prefix = {}) {
  TraceRow row = lengths(prompt, 1);
  row.arrival = SimTime{Duration{at}};
  row.prefix = prefix;
  return row;
}

}  // namespace

TEST_CASE("a row comes back as it was added") {
  const std::vector<BlockRun> runs{{3, 5}, {9, 1}};
  TraceRow row = arriving(7, 96, runs);
  row.session = 4;
  row.turn = 2;
  Trace trace;
  trace.add(row);
  const TraceRow back = trace.row(0);
  CHECK(back.arrival == row.arrival);
  CHECK(back.prompt == Tokens{96});
  CHECK(back.session == 4u);
  CHECK(back.turn == 2);
  CHECK(std::vector<BlockRun>(back.prefix.begin(), back.prefix.end()) == runs);
}

TEST_CASE("rows before the first prefix have none") {
  const std::vector<BlockRun> runs{{1, 2}};
  Trace trace;
  trace.add(arriving(0, 10));
  trace.add(arriving(1, 40, runs));
  trace.add(arriving(2, 10));
  CHECK(trace.row(0).prefix.empty());
  CHECK(trace.row(1).prefix.size() == 1);
  CHECK(trace.row(2).prefix.empty());
}

TEST_CASE("sorting keeps the order of equal arrivals and takes prefixes along") {
  const std::vector<BlockRun> runs{{1, 2}};
  Trace trace;
  trace.add(arriving(5, 50, runs));
  trace.add(arriving(2, 21));
  trace.add(arriving(2, 22));
  trace.sort_by_arrival();
  CHECK(trace.row(0).prompt == Tokens{21});
  CHECK(trace.row(1).prompt == Tokens{22});
  CHECK(trace.row(2).prefix.size() == 1);
  trace.start_at_zero();
  CHECK(*trace.row(0).arrival == kStart);
  CHECK(*trace.row(2).arrival == SimTime{Duration{3}});
}

TEST_CASE("a million rows without prefixes take at most 32 bytes each") {
  Trace trace;
  for (int i = 0; i < 1'000'000; ++i) trace.add(arriving(i, 100));
  CHECK(trace.bytes() <= 32'000'000);
}
