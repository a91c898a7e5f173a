// Orca's experiment: its synthetic trace, against request-level batching.
#include <cmath>

#include "tests/figures/served.hpp"
#include "traces/arrivals.hpp"
#include "traces/lengths.hpp"

using namespace servecast;
using namespace servecast::figures;

namespace {

struct Lengths {
  LengthShape prompt, output;
};
const Lengths kMixed{UniformLength{32, 512}, UniformLength{1, 128}};
const Lengths kEqual{FixedLength{32}, FixedLength{32}};

std::vector<Arrival> poisson(const Lengths& lengths, double rate_per_s, std::int64_t requests) {
  LengthSampler prompts({lengths.prompt}, stream(1, "prompts"), "prompt");
  LengthSampler outputs({lengths.output}, stream(1, "outputs"), "output");
  const auto times = make_arrival_times(PoissonArrivals{rate_per_s}, stream(1, "arrivals"));
  std::vector<Arrival> arrivals;
  for (std::int64_t i = 0; i < requests; ++i) {
    const Tokens output = outputs.next();
    arrivals.push_back({times->next().value(), prompts.next(), output, output});
  }
  return arrivals;
}

// 175 billion parameters over eight A100, as many as the weights need.
class Host {
 public:
  Host()
      : model_(shipped_model("opt-175b")),
        roofline_(model_, device_, published_dtypes(model_), 8),
        plan_(plan_of(shard(model_, 8), device_.memory.count(), published_dtypes(model_))) {}

  // Median latency per token.
  double latency(const SchedulerOptions& options, const Lengths& lengths, double rate_per_s) {
    return serve({options, plan_.slots().count()}, poisson(lengths, rate_per_s, 200), roofline_)
        ->summary.normalised.p50_s;
  }

  // The highest rate at which the latency is at most twice that of a request alone.
  double rate(const SchedulerOptions& options, const Lengths& lengths) {
    const double most = 2 * latency(OrcaOptions{}, lengths, 0.01);
    double low = 0.05;
    double high = 200;
    while (high / low > 1.05) {
      const double middle = std::sqrt(low * high);
      (latency(options, lengths, middle) <= most ? low : high) = middle;
    }
    return low;
  }

 private:
  DeviceSheet device_ = shipped_device("a100-80g-sxm");
  ModelShape model_;
  RooflineModel roofline_;
  MemoryPlan plan_;
};

}  // namespace

TEST_CASE("S0-41: Orca serves many times the requests of request-level batching; equal lengths narrow the gap") {
  Host host;
  const OrcaOptions orca{.max_batch = 128};
  const StaticOptions eight{.batch_size = 8, .max_len = Tokens{640}, .deliver_at_end = true};
  const StaticOptions one{.batch_size = 1, .max_len = Tokens{640}, .deliver_at_end = true};
  const auto gain = [&](const Lengths& lengths) {
    return host.rate(orca, lengths) / std::max(host.rate(eight, lengths), host.rate(one, lengths));
  };
  const double mixed = gain(kMixed);
  const double equal = gain(kEqual);
  INFO("mixed lengths ", mixed, ", equal lengths ", equal);
  CHECK(mixed > 5);
  CHECK(equal > 1);
  CHECK(equal < mixed);
}
