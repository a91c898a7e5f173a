#include "traces/write.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <sstream>

#include "tests/unit/traces/support.hpp"
#include "traces/stats.hpp"

using namespace servecast;

namespace {

std::string written(const Trace& trace, TraceFormat format, const std::string& comment = {}) {
  std::ostringstream out;
  write_trace(out, format, trace, comment);
  return out.str();
}

bool same_rows(const Trace& one, const Trace& two) {
  if (one.size() != two.size()) return false;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const TraceRow a = one.row(i);
    const TraceRow b = two.row(i);
    if (a.arrival != b.arrival || a.prompt != b.prompt || a.output != b.output || a.session != b.session ||
        a.turn != b.turn || !std::equal(a.prefix.begin(), a.prefix.end(), b.prefix.begin(), b.prefix.end())) {
      return false;
    }
  }
  return true;
}

// Any trace that a file could hold: each shape (arrivals, sessions, prefixes) or none of it.
Trace any_trace() {
  const bool arrivals = *rc::gen::arbitrary<bool>();
  const bool sessions = *rc::gen::arbitrary<bool>();
  Trace trace;
  trace.set_block_size(Tokens{16});
  SimTime at = kStart;
  bool prefixes = false;
  for (int rows = *rc::gen::inRange(1, 20); rows > 0; --rows) {
    TraceRow row;
    at += Duration{*rc::gen::inRange<std::int64_t>(0, 50'000'000'000'000)};
    if (arrivals) row.arrival = at;
    row.prompt = Tokens{*rc::gen::inRange<std::int64_t>(1, kMaxTokensPerLength)};
    row.output = Tokens{*rc::gen::inRange<std::int64_t>(1, kMaxTokensPerLength)};
    if (sessions) row.session = *rc::gen::arbitrary<std::uint32_t>();
    if (sessions) row.turn = *rc::gen::arbitrary<std::uint32_t>();
    const BlockRun run{*rc::gen::inRange<std::uint64_t>(0, 1'000'000), 1};
    if (*rc::gen::arbitrary<bool>()) row.prefix = {&run, 1};
    prefixes = prefixes || !row.prefix.empty();
    trace.add(row);
  }
  if (!prefixes) trace.set_block_size(Tokens{0});
  return trace;
}

}  // namespace

TEST_CASE("what is written is read back the same, to the nanosecond") {
  const bool held = rc::check([] {
    const Trace trace = any_trace();
    for (const TraceFormat format : {TraceFormat::kCsv, TraceFormat::kJsonl}) {
      const Trace back = read_text(written(trace, format)).trace;
      RC_ASSERT(same_rows(trace, back));
      RC_ASSERT(back.block_size() == trace.block_size());
    }
  });
  CHECK(held);
}

TEST_CASE("a written CSV is what the documentation shows") {
  const Trace trace =
      read_text("arrival_ns,prompt_tokens,output_tokens,prefix_block16_ids\n1500000001,40,7,1-2 9\n").trace;
  CHECK(written(trace, TraceFormat::kCsv, "made by\nhand") ==
        "# made by\n# hand\narrival_s,prompt_tokens,output_tokens,prefix_block16_ids\n1.500000001,40,7,1-2 9\n");
  CHECK(written(trace, TraceFormat::kJsonl, "made by hand") ==
        "{\"arrival_s\":1.500000001,\"prompt_tokens\":40,\"output_tokens\":7,\"prefix_block16_ids\":[1,2,9]}\n");
}

TEST_CASE("a generated trace repeats with its seed and says what it was made from") {
  const WorkloadSpec spec{
      .arrivals = PoissonArrivals{8},
      .lengths = DrawnLengths{.prompt = {.shape = UniformLength{1, 100}}, .output = {.shape = FixedLength{5}}},
      .requests = 50,
      .max_tokens = {},
      .seed = 7};
  const auto make = [&spec] {
    std::ostringstream out;
    TraceWriter writer(out, TraceFormat::kCsv, {}, describe(spec));
    const Realised realised = generate(spec, nullptr, [&writer](const TraceRow& row) { writer.add(row); });
    CHECK(realised.requests == 50);
    return out.str();
  };
  const std::string text = make();
  CHECK(text == make());
  CHECK(
      text.starts_with("# arrivals: poisson, 8 requests/s; prompt: uniform 1 to 100; output: fixed 5; requests: 50; "
                       "seed 7\narrival_s,prompt_tokens,output_tokens\n0.000000000,"));
  CHECK(read_text(text).trace.size() == 50);
  WorkloadSpec closed = spec;
  closed.arrivals = ClosedLoop{};
  CHECK(message_of([&] { generate(closed, nullptr, [](const TraceRow&) {}); }) ==
        "arrivals: a closed loop has no arrivals before it is run");
}

TEST_CASE("a report says how many rows were dropped and why") {
  CHECK(describe(read_text("prompt_tokens,output_tokens\n0,5\n7,7\n").report) ==
        "from t (servecast-csv): 1 of 2 rows\ndropped: 1 zero-length prompt\ntokens as recorded");
}

TEST_CASE("percentiles interpolate as numpy's default does") {
  std::vector<std::int64_t> values{40, 10, 20, 30};
  CHECK(percentile(values, 0.5) == doctest::Approx(25));
  CHECK(percentile(values, 0.9) == doctest::Approx(37));
  CHECK(percentile(values, 0) == doctest::Approx(10));
  CHECK(percentile(values, 1) == doctest::Approx(40));
}

TEST_CASE("statistics cover arrivals, lengths, sessions and prefixes") {
  const TraceStats stats = stats_of(read_text("arrival_s,prompt_tokens,output_tokens,session,turn,prefix_block16_ids\n"
                                              "1,32,1,0,0,1-2\n2,48,2,1,0,1-3\n5,16,3,0,1,9\n")
                                        .trace);
  CHECK(stats.requests == 3);
  REQUIRE(stats.arrivals);
  CHECK(stats.arrivals->span == Duration{4'000'000'000});
  CHECK(stats.arrivals->rate_per_s == doctest::Approx(0.5));
  CHECK(stats.arrivals->gap_cv == doctest::Approx(0.5));  // gaps 1 and 3
  CHECK(stats.prompt.total == 96);
  CHECK(stats.output.mean == doctest::Approx(2));
  CHECK(stats.output.max == 3);
  CHECK(stats.sessions == 2);
  REQUIRE(stats.prefix);
  CHECK(stats.prefix->blocks == 6);
  CHECK(stats.prefix->blocks_seen_before == 2);
}
