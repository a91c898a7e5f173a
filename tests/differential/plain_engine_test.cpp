// The engine against a plain one on random specs, one step planned at a time and planned ahead.
#include "tests/differential/plain_engine.hpp"

#include <doctest/doctest.h>

#include "sim/random.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

std::int64_t draw(RandomStream& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

SchedulerOptions random_options(RandomStream& random, std::int64_t longest, double watermark) {
  const std::int64_t slots = draw(random, 1, 8);
  switch (draw(random, 0, 2)) {
    case 0:
      return VllmV0Options{slots, Tokens{longest + draw(random, 0, 40)}, watermark};
    case 1:
      return SarathiOptions{Tokens{draw(random, 1, 40)}, slots, watermark, true};
    default:
      break;
  }
  VllmV1Options o;
  o.max_num_batched_tokens = Tokens{draw(random, 1, 40)};
  o.max_num_seqs = slots;
  o.long_prefill_token_threshold = Tokens{draw(random, 0, 1) * draw(random, 1, 10)};
  o.reserve_full_isl = draw(random, 0, 1) == 1;
  o.watermark = watermark;
  return o;
}

// From "one request just fits" to ample memory; several arrive at the same instant.
Spec random_spec(RandomStream& random, bool async) {
  static const std::int64_t block_sizes[]{1, 2, 3, 4, 8, 16};
  Spec spec;
  spec.async = async;
  spec.block_size = block_sizes[draw(random, 0, 5)];
  std::int64_t arrival = 0, longest = 0;
  for (std::int64_t i = draw(random, 1, 9); i > 0; --i) {
    const std::int64_t prompt = draw(random, 1, 24), output = draw(random, 1, 12);
    spec.requests.push_back({std::string(1, static_cast<char>('A' + spec.requests.size())), arrival, prompt, output});
    if (draw(random, 0, 1) == 1) arrival += draw(random, 0, 6);
    longest = std::max(longest, prompt + output);
  }
  const std::int64_t spare = draw(random, 0, 2);  // blocks of the watermark
  const std::int64_t least = (longest + spec.block_size - 1) / spec.block_size + 1 + spare;
  spec.usable_blocks = least + draw(random, 0, draw(random, 0, 1) == 0 ? 3 : 20);
  // A little above, so that the share rounds down to so many blocks.
  const double share = spare == 0 ? 0 : (static_cast<double>(spare) + 0.5) / static_cast<double>(spec.usable_blocks);
  spec.options = random_options(random, longest, share);
  return spec;
}

void agree_on_random_specs(bool async) {
  RandomStream random = stream(20261202, async ? "plain async" : "plain");
  std::int64_t preempting = 0;
  for (int i = 0; i < 4000; ++i) {
    const Spec spec = random_spec(random, async);
    CAPTURE(i);
    CAPTURE(scheduler_name(spec.options));
    const PlainEngine::Answer expected = PlainEngine(spec).run();
    const Outcomes out = run(spec);
    CHECK(out.emitted_at == expected.emitted_at);
    CHECK(out.result.preemptions == expected.preemptions);
    preempting += expected.preemptions > 0 ? 1 : 0;
  }
  CHECK(preempting > 400);  // memory does bind
}

}  // namespace

TEST_CASE("vLLM V0, V1 and Sarathi agree with a plain engine, longest chunks and watermarks included") {
  agree_on_random_specs(false);
}

TEST_CASE("and so they do when each step is planned while one runs") { agree_on_random_specs(true); }
