// Latency metrics, and the bound that every simulated step keeps.
#include "costmodel/simple.hpp"
#include "tests/figures/served.hpp"

using namespace servecast;
using namespace servecast::figures;

namespace {

// Steps of given lengths, one after the other.
class GivenSteps final : public StepCostModel {
 public:
  explicit GivenSteps(std::vector<std::int64_t> milliseconds) : left_(std::move(milliseconds)) {}
  StepCost cost(const StepShape&) override {
    REQUIRE(next_ < left_.size());
    return {std::chrono::milliseconds{left_[next_++]}, Duration{0}};
  }

 private:
  std::vector<std::int64_t> left_;
  std::size_t next_ = 0;
};

// Holds every step against its bound.
class Bounded final : public StepCostModel {
 public:
  explicit Bounded(RooflineModel& model) : model_(model) {}
  StepCost cost(const StepShape& shape) override {
    const StepCost cost = model_.cost(shape);
    ++steps;
    if (seconds(cost.device) + 0.5e-9 < model_.bound(shape).seconds()) ++faster;
    return cost;
  }

  int steps = 0;
  int faster = 0;

 private:
  RooflineModel& model_;
};

std::vector<Arrival> mixed_lengths() {
  std::vector<Arrival> arrivals;
  for (std::int64_t i = 0; i < 24; ++i)
    arrivals.push_back(arrival(0.05 * real(i), 1 + 131 * (i % 7), 1 + 13 * (i % 5)));
  return arrivals;
}

}  // namespace

TEST_CASE("S0-01: tokens at 1.0, 1.1 and 1.3 s make TTFT 1.0, TPOT 0.15, gaps of 0.1 and 0.2, and E2E 1.3") {
  GivenSteps steps({1000, 100, 200});
  const auto served = serve({VllmV0Options{}, 1024}, {arrival(0, 10, 3)}, steps);
  const Summary& summary = served->summary;
  CHECK(summary.completed == 1);
  CHECK(summary.ttft.mean_s == closed(1.0));
  CHECK(summary.tpot.count == 1);
  CHECK(summary.tpot.mean_s == closed(0.15));
  CHECK(summary.itl.count == 2);
  CHECK(summary.itl.mean_s == closed(0.15));
  CHECK(summary.itl.max_s == closed(0.2));  // two gaps with this mean and this maximum: 0.1 and 0.2
  CHECK(summary.e2e.mean_s == closed(1.3));
}

TEST_CASE("A.0: the prefill makes the first token, under any scheduler: TTFT is its end") {
  for (const std::string& name : scheduler_names()) {
    if (replica_needs(default_options(name)).pools) continue;
    CAPTURE(name);
    ConstantStepModel second(std::chrono::seconds{1});
    const auto served = serve({default_options(name), 4096}, {arrival(0, 100, 3)}, second);
    CHECK(served->summary.ttft.mean_s == closed(1));
    CHECK(served->summary.e2e.mean_s == closed(3));
  }
}

TEST_CASE("S0-04: no simulated step is faster than max(FLOPs / peak, bytes / bandwidth), under any scheduler") {
  struct Setup {
    const char* model;
    const char* device;
  };
  for (const Setup& setup : {Setup{"llama-3.1-8b", "h100-sxm"}, Setup{"qwen2.5-1.5b", "rtx-2080-ti"}}) {
    const ModelShape model = shipped_model(setup.model);
    const DeviceSheet device = shipped_device(setup.device);
    for (const std::string& name : scheduler_names()) {
      if (replica_needs(default_options(name)).pools) continue;
      CAPTURE(setup.model);
      CAPTURE(name);
      RooflineModel roofline(model, device, runnable_dtypes(model, device));
      Bounded bounded(roofline);
      const auto served = serve({default_options(name), 40'000}, mixed_lengths(), bounded);
      CHECK(served->summary.completed == 24);
      CHECK(bounded.steps > 50);
      CHECK(bounded.faster == 0);
    }
  }
}
