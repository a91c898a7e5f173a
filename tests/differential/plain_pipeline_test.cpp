// Orca on a pipeline: the engine's lanes against Algorithm 1, which knows none.
#include "tests/support/plain_pipeline.hpp"

#include <doctest/doctest.h>

#include "sim/random.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

std::int64_t draw(RandomStream& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

Spec random_spec(RandomStream& random) {
  Spec spec;
  std::int64_t arrival = 0, largest = 0;
  for (std::int64_t i = draw(random, 1, 12); i > 0; --i) {
    const std::int64_t prompt = draw(random, 1, 20), output = draw(random, 1, 10);
    spec.requests.push_back({std::string(1, static_cast<char>('A' + spec.requests.size())), arrival, prompt, output});
    if (draw(random, 0, 1) == 1) arrival += draw(random, 0, 9);
    largest = std::max(largest, prompt + output);
  }
  spec.usable_blocks = largest + draw(random, 0, draw(random, 0, 1) * 120);
  spec.options = OrcaOptions{.max_batch = draw(random, 1, 5)};
  for (std::int64_t i = draw(random, 2, 4); i > 0; --i) spec.stage_seconds.push_back(draw(random, 1, 3));
  spec.handoff_seconds = draw(random, 0, 2);
  return spec;
}

}  // namespace

TEST_CASE("Orca's batches on a pipeline are those of its Algorithm 1, whatever the stages take") {
  RandomStream random = stream(20261203, "plain pipeline");
  std::int64_t several = 0;
  for (int i = 0; i < 2000; ++i) {
    const Spec spec = random_spec(random);
    CAPTURE(i);
    const Outcomes out = run(spec);
    CHECK(out.emitted_at == PlainPipeline(spec).run());
    several += out.result.counters.worked > out.result.counters.busy ? 1 : 0;
  }
  CHECK(several > 200);  // steps do overlap: more work than time
}
