// The golden traces G1, G2 and G3: three small requests under every scheduler, each step lasting one second.
// Expected lines were derived by hand from the rules of each scheduler and agree with the reference oracle.
#include <doctest/doctest.h>

#include "tests/support/unit_run.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

using Lines = std::vector<std::string>;
using Times = std::vector<std::vector<std::int64_t>>;

const std::vector<Spec::Req> kAbc{{"A", 0, 6, 5}, {"B", 0, 9, 3}, {"C", 1, 5, 4}};
const std::vector<Spec::Req> kPair{{"A", 0, 5, 3}, {"B", 0, 5, 3}};

SchedulerOptions static_of_two() {
  return StaticOptions{
      .batch_size = 2, .max_len = Tokens{16}, .padding = true, .deliver_at_end = false, .wait_for_batch = Duration{0}};
}
SchedulerOptions orca_of_three() { return OrcaOptions{3, Reservation::kMax, Tokens{16}}; }
SchedulerOptions v0() { return VllmV0Options{4, Tokens{32}, 0.0}; }
SchedulerOptions sarathi() { return SarathiOptions{Tokens{8}, 4, 0.0, true}; }
SchedulerOptions v1() {
  VllmV1Options o;
  o.max_num_batched_tokens = Tokens{8};
  o.max_num_seqs = 4;
  return o;
}
SchedulerOptions sglang(double ratio = 0.7) {
  SglangOptions o;
  o.chunked_prefill_size = Tokens{8};
  o.max_running_requests = 8;
  o.new_token_ratio = ratio;
  o.min_new_token_ratio = 0.1;
  o.ratio_decay = 0;
  return o;
}

std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

void check(const Spec& spec, const Lines& lines, const Times& times, std::int64_t preemptions) {
  const Outcomes out = run(spec);
  CHECK(joined(out.steps) == joined(lines));
  CHECK(out.emitted_at == times);
  CHECK(out.result.preemptions == preemptions);
}

}  // namespace

TEST_CASE("G1: static batching runs its two to the end before the third") {
  check({kAbc, 16, 4, static_of_two()},
        {"t=0 A:P6 B:P9 free=8", "t=1 A:D B:D free=8", "t=2 A:D B:D free=8", "t=3 A:D free=8", "t=4 A:D free=8",
         "t=5 C:P5 free=12", "t=6 C:D free=12", "t=7 C:D free=12", "t=8 C:D free=12"},
        {{1, 2, 3, 4, 5}, {1, 2, 3}, {6, 7, 8, 9}}, 0);
}

TEST_CASE("G1: Orca lets a prefill join running decodes") {
  check({kAbc, 64, 1, orca_of_three()},
        {"t=0 A:P6 B:P9 free=32", "t=1 A:D B:D C:P5 free=16", "t=2 A:D B:D C:D free=16", "t=3 A:D C:D free=32",
         "t=4 A:D C:D free=32"},
        {{1, 2, 3, 4, 5}, {1, 2, 3}, {2, 3, 4, 5}}, 0);
}

TEST_CASE("G1: vLLM V0 gives a prefill a step of its own") {
  check({kAbc, 16, 4, v0()},
        {"t=0 A:P6 B:P9 free=11", "t=1 C:P5 free=9", "t=2 A:D B:D C:D free=9", "t=3 A:D B:D C:D free=9",
         "t=4 A:D C:D free=11", "t=5 A:D free=13"},
        {{1, 3, 4, 5, 6}, {1, 3, 4}, {2, 3, 4, 5}}, 0);
}

TEST_CASE("G1: Sarathi cuts B's prompt and takes all its blocks at once") {
  check({kAbc, 16, 4, sarathi()},
        {"t=0 A:P6 B:P2 free=11", "t=1 A:D B:P7 free=11", "t=2 A:D B:D C:P5 free=9", "t=3 A:D B:D C:D free=8",
         "t=4 A:D C:D free=11", "t=5 C:D free=14"},
        {{1, 2, 3, 4, 5}, {2, 3, 4}, {3, 4, 5, 6}}, 0);
}

TEST_CASE("G1: vLLM V1 makes the same steps and takes blocks chunk by chunk") {
  check({kAbc, 16, 4, v1()},
        {"t=0 A:P6 B:P2 free=13", "t=1 A:D B:P7 free=11", "t=2 A:D B:D C:P5 free=9", "t=3 A:D B:D C:D free=8",
         "t=4 A:D C:D free=11", "t=5 C:D free=14"},
        {{1, 2, 3, 4, 5}, {2, 3, 4}, {3, 4, 5, 6}}, 0);
}

TEST_CASE("G1: SGLang finishes all prefills before anybody decodes") {
  check({kAbc, 64, 1, sglang()},
        {"t=0 A:P6 B:P2 free=56", "t=1 B:P7 C:P1 free=48", "t=2 C:P4 free=44", "t=3 A:D B:D C:D free=41",
         "t=4 A:D B:D C:D free=38", "t=5 A:D C:D free=47", "t=6 A:D free=54"},
        {{1, 4, 5, 6, 7}, {2, 4, 5}, {3, 4, 5, 6}}, 0);
}

TEST_CASE("G2: under pressure Orca serves one after the other") {
  const Outcomes out = run({kAbc, 28, 1, orca_of_three()});
  CHECK(out.emitted_at == Times{{1, 2, 3, 4, 5}, {6, 7, 8}, {9, 10, 11, 12}});
  CHECK(out.result.preemptions == 0);
}

TEST_CASE("G2: vLLM V0 preempts the latest twice") {
  check({kAbc, 7, 4, v0()},
        {"t=0 A:P6 B:P9 free=2", "t=1 C:P5 free=0", "t=2 A:D B:D free=2", "t=3 C:P6 free=0", "t=4 A:D B:D free=2",
         "t=5 C:P7 free=3", "t=6 A:D C:D free=2", "t=7 A:D free=4"},
        {{1, 3, 5, 7, 8}, {1, 3, 5}, {2, 4, 6, 7}}, 2);
}

TEST_CASE("G2: Sarathi and vLLM V1 preempt the latest once") {
  const Lines lines{"t=0 A:P6 B:P2 free=2", "t=1 A:D B:P7 free=2", "t=2 A:D B:D C:P5 free=0", "t=3 A:D B:D free=1",
                    "t=4 A:D C:P6 free=2",  "t=5 C:D free=5",      "t=6 C:D free=5"};
  Lines v1_lines = lines;
  v1_lines[0] = "t=0 A:P6 B:P2 free=4";
  const Times times{{1, 2, 3, 4, 5}, {2, 3, 4}, {3, 5, 6, 7}};
  check({kAbc, 7, 4, sarathi()}, lines, times, 1);
  check({kAbc, 7, 4, v1()}, v1_lines, times, 1);
}

TEST_CASE("G2: SGLang holds the third back instead of retracting it") {
  check({kAbc, 28, 1, sglang()},
        {"t=0 A:P6 B:P2 free=20", "t=1 B:P7 free=13", "t=2 A:D B:D free=11", "t=3 A:D B:D free=9", "t=4 C:P5 free=15",
         "t=5 A:D C:D free=13", "t=6 A:D C:D free=11", "t=7 C:D free=20"},
        {{1, 3, 4, 6, 7}, {2, 3, 4}, {5, 6, 7, 8}}, 0);
  CHECK(run({kAbc, 24, 1, sglang(0.3)}).emitted_at == Times{{1, 3, 4, 6, 7}, {2, 3, 4}, {5, 6, 7, 8}});
}

TEST_CASE("G3: V0 and Sarathi demand a free block per sequence, V1 only what it needs") {
  check({kPair, 4, 4, v0()},
        {"t=0 A:P5 B:P5 free=0", "t=1 A:D free=2", "t=2 B:P6 free=0", "t=3 A:D free=2", "t=4 B:P7 free=2"},
        {{1, 2, 4}, {1, 3, 5}}, 2);
  check({kPair, 4, 4, sarathi()},
        {"t=0 A:P5 B:P3 free=0", "t=1 A:D B:P5 free=0", "t=2 A:D B:P6 free=0", "t=3 B:D free=2"},
        {{1, 2, 3}, {2, 3, 4}}, 2);
  check({kPair, 4, 4, v1()}, {"t=0 A:P5 B:P3 free=1", "t=1 A:D B:P2 free=0", "t=2 A:D B:D free=0", "t=3 B:D free=2"},
        {{1, 2, 3}, {2, 3, 4}}, 0);
}
