// DistServe's closed forms, and pipelines whose stage times come from the cost model held against them.
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <random>
#include <vector>

#include "costmodel/model_config.hpp"
#include "costmodel/pipeline.hpp"
#include "tests/support/distserve_forms.hpp"
#include "tests/unit/costmodel/sample_device.hpp"
#include "tests/unit/costmodel/sample_models.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

struct Mean {
  double value = 0;
  double half_width = 0;  // of the 99 % interval
};

// Mean time through stages that each serve one after another, first come first served, from batches of arrivals.
Mean time_through(const std::vector<double>& stages, double rate, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> gap(rate);
  std::vector<double> free_at(stages.size());
  constexpr int kBatches = 40;
  constexpr int kArrivals = 5000;
  std::vector<double> means;
  double now = 0;
  for (int batch = 0; batch < kBatches; ++batch) {
    double sum = 0;
    for (int i = 0; i < kArrivals; ++i) {
      double at = now += gap(random);
      for (std::size_t stage = 0; stage < stages.size(); ++stage) {
        at = free_at[stage] = std::max(at, free_at[stage]) + stages[stage];
      }
      sum += at - now;
    }
    means.push_back(sum / kArrivals);
  }
  Mean mean;
  for (const double m : means) mean.value += m / kBatches;
  double variance = 0;
  for (const double m : means) variance += (m - mean.value) * (m - mean.value) / (kBatches - 1);
  mean.half_width = 2.7 * std::sqrt(variance / kBatches);
  return mean;
}

}  // namespace

TEST_CASE("DistServe's closed forms have the values that follow from them by hand") {
  CHECK(single_server_ttft(1, 0.5) == doctest::Approx(0.75).scale(0));
  CHECK(single_server_ttft(1.5, 0.5) == doctest::Approx(1.25).scale(0));
  CHECK(single_server_ttft(1, 0.2) == doctest::Approx(0.225).scale(0));
  CHECK(two_stage_ttft(1, 0.5) == doctest::Approx(0.54167).epsilon(1e-5).scale(0));
  CHECK(tensor_parallel_ttft(1, 0.5, 1.8) == doctest::Approx(0.33120).epsilon(2e-5).scale(0));
}

TEST_CASE("one server, two stages and two tensor ranks of the cost model wait as the closed forms say") {
  // Without embedding and head, which only one stage has, both halves of the layers take equally long.
  ModelShape model = parse_model(kLlama31Config, "llama");
  model.has_embedding = model.has_head = false;
  const DeviceSheet device = parse_device(kSampleDevice, "x.yaml");
  const PrefillChunk chunk{Tokens{2048}, Tokens{0}};
  const StepShape shape{{&chunk, 1}, 0, Tokens{0}, Tokens{0}, 0};
  const auto stage_times = [&](std::int64_t tensor, std::int64_t pipeline) {
    PipelineModel cost(model, device, {}, {Sharding{tensor}, pipeline, {}});
    std::vector<double> times;
    for (std::size_t stage = 0; stage < cost.stages(); ++stage) {
      times.push_back(seconds(cost.stage_cost(stage, shape).device));
    }
    return times;
  };
  const std::vector<double> whole = stage_times(1, 1), halves = stage_times(1, 2), ranks = stage_times(2, 1);
  CHECK(halves[0] == halves[1]);
  CHECK(halves[0] + halves[1] == doctest::Approx(whole[0]).epsilon(1e-6).scale(0));
  const double speedup = whole[0] / ranks[0];
  CHECK(speedup > 1.5);
  CHECK(speedup < 2);
  for (const double load : {0.3, 0.8}) {
    CAPTURE(load);
    const double rate = load / whole[0];
    const auto holds = [&](const std::vector<double>& stages, double expected) {
      const Mean mean = time_through(stages, rate, 7);
      CHECK(std::abs(mean.value - expected) <= mean.half_width);
      CHECK(mean.half_width < 0.1 * expected);
    };
    holds(whole, single_server_ttft(rate, whole[0]));
    holds(halves, two_stage_ttft(rate, whole[0]));
    holds(ranks, tensor_parallel_ttft(rate, whole[0], speedup));
  }
}
