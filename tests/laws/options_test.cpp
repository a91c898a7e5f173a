// Options that the oracle of the differential test does not know, drawn at random, with and without asynchronous
// scheduling, from tight to ample memory: everybody is served, to the last token.
#include <doctest/doctest.h>

#include "tests/laws/law_run.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

double share(RandomStream& random, std::int64_t low, std::int64_t high) {
  return 0.01 * static_cast<double>(draw(random, low, high));
}
bool coin(RandomStream& random) { return draw(random, 0, 1) == 1; }

VllmV1Options random_v1(RandomStream& random) {
  VllmV1Options o;
  o.max_num_batched_tokens = Tokens{draw(random, 1, 40)};
  o.max_num_seqs = draw(random, 1, 8);
  o.long_prefill_token_threshold = Tokens{draw(random, 0, 12)};
  o.reserve_full_isl = coin(random);
  o.watermark = share(random, 0, 20);
  return o;
}

SglangOptions random_sglang(RandomStream& random) {
  SglangOptions o;
  o.chunked_prefill_size = Tokens{draw(random, 1, 8)};  // few beside decodes: prompts stay cut for long
  o.max_prefill_tokens = Tokens{draw(random, 5, 60)};
  o.max_running_requests = draw(random, 1, 8);
  o.new_token_ratio = share(random, 5, 40);
  o.min_new_token_ratio = 0.05;
  o.ratio_decay = share(random, 0, 5);
  o.clip_max_new_tokens = Tokens{draw(random, 1, 20)};
  o.mixed_chunk = draw(random, 0, 3) != 0;
  return o;
}

std::vector<SchedulerOptions> random_schedulers(RandomStream& random) {
  return {random_v1(random), random_sglang(random),
          SarathiOptions{Tokens{draw(random, 1, 40)}, draw(random, 1, 8), share(random, 0, 1), coin(random)},
          VllmV0Options{draw(random, 1, 8), Tokens{draw(random, 24, 80)}, share(random, 0, 1)}};
}

// Prompts to 24 and answers to 20 tokens, and memory for little more than the longest.
LawCase random_case(RandomStream& random, const SchedulerOptions& options) {
  const std::int64_t block_size = draw(random, 1, 5);
  LawCase what{options, random_arrivals(random, 10, 24, 20, 6'000'000), 0, block_size, coin(random)};
  what.blocks = (48 + block_size - 1) / block_size + 2 + draw(random, 0, 8);
  what.name_blocks = coin(random);
  return what;
}

void check_served(const LawCase& what, const LawRun& out) {
  REQUIRE(out.requests.size() == what.arrivals.size());
  for (std::uint32_t i = 0; i < out.requests.size(); ++i) {
    const Request& request = out.requests[i];
    CHECK(request.outcome == Outcome::kCompleted);
    CHECK(static_cast<std::int64_t>(out.watcher.tokens_at.at(i).size()) == what.arrivals[i].output.count());
    for (const Duration spent : request.spent) CHECK(spent >= Duration{0});
  }
  CHECK(out.watcher.wrong_contexts == 0);
}

}  // namespace

TEST_CASE("whatever the options, everybody gets every token, and time adds up") {
  RandomStream random = stream(77, "options");
  for (int i = 0; i < 600; ++i) {
    for (const SchedulerOptions& options : random_schedulers(random)) {
      const LawCase what = random_case(random, options);
      CAPTURE(i);
      CAPTURE(scheduler_name(options));
      CAPTURE(what.async);
      LawRun out;
      run(what, out);
      check_served(what, out);
    }
  }
}

// Up to the horizon the two runs are the same; the engine itself checks that the causes of what is open add up.
TEST_CASE("a horizon cuts a run off and changes nothing before it") {
  RandomStream random = stream(78, "horizon");
  for (int i = 0; i < 60; ++i) {
    for (const SchedulerOptions& options : random_schedulers(random)) {
      LawCase what = random_case(random, options);
      CAPTURE(i);
      CAPTURE(scheduler_name(options));
      LawRun whole, cut;
      run(what, whole);
      what.horizon = kStart + (whole.result.ended_at - kStart) / 2;
      run(what, cut);
      CHECK(cut.result.ended_at == *what.horizon);
      for (std::uint32_t r = 0; r < cut.requests.size(); ++r) {
        const bool ended = whole.requests[r].last_token_at <= *what.horizon;
        CHECK((cut.requests[r].outcome == Outcome::kCompleted) == ended);
        if (ended) CHECK(cut.requests[r].last_token_at == whole.requests[r].last_token_at);
        for (const Duration spent : cut.requests[r].spent) CHECK(spent >= Duration{0});
      }
    }
  }
}
