// The example of docs/metrics.md, run through the engine and held against the page.
#include <doctest/doctest.h>
#include <fstream>
#include <map>
#include <string>
#include <variant>

#include "app/results/metrics.hpp"
#include "policies/registry.hpp"
#include "sim/simulation.hpp"
#include "sim/summary.hpp"

namespace servecast {
namespace {

// A prefill of 1 s, then gaps of 0.1 s and 0.2 s.
class ScriptedSteps final : public StepCostModel {
 public:
  StepCost cost(const StepShape&) override { return {lengths_[next_++], Duration{0}}; }

 private:
  std::array<Duration, 3> lengths_{std::chrono::milliseconds{1000}, std::chrono::milliseconds{100},
                                   std::chrono::milliseconds{200}};
  std::size_t next_ = 0;
};

class OneRequest final : public ArrivalSource {
 public:
  std::optional<Arrival> next() override {
    if (sent_) return std::nullopt;
    sent_ = true;
    return Arrival{kStart, Tokens{10}, Tokens{3}, Tokens{3}};
  }
  void finished(RequestId, SimTime) override {}

 private:
  bool sent_ = false;
};

std::map<std::string, double> example_metrics() {
  SimulationConfig config;
  config.replica.usable_blocks = Blocks{10};
  config.replica.block_size = Tokens{16};
  RequestTable requests;
  OneRequest source;
  ScriptedSteps steps;
  PredictedExecutor executor(steps);
  const auto scheduler = make_scheduler(SchedulerOptions{VllmV1Options{}}, requests);
  GridPoint grid;
  PreparedPoint point;
  point.deployment.memory.stages.resize(1);  // no pipeline
  point.point = &grid;
  PointResult result;
  result.run = simulate(config, requests, source, *scheduler, executor);
  result.summary = summarise(requests, result.run, {});
  std::map<std::string, double> values;
  for (const Metric& metric : metrics_of(point, result)) {
    if (const auto* count = std::get_if<std::int64_t>(&metric.value)) {
      values[metric.key] = static_cast<double>(*count);
    } else if (const auto* number = std::get_if<double>(&metric.value)) {
      values[metric.key] = *number;
    }
  }
  return values;
}

// The rows "| `key` | value | ..." of the page whose value is a number.
std::map<std::string, double> documented_values() {
  std::ifstream page(SERVECAST_SOURCE_DIR "/docs/metrics.md");
  std::map<std::string, double> values;
  for (std::string line; std::getline(page, line);) {
    const std::size_t key_end = line.find("` | ");
    if (!line.starts_with("| `") || key_end == std::string::npos) continue;
    const char* from = line.c_str() + key_end + 4;
    char* to = nullptr;
    const double value = std::strtod(from, &to);
    if (to != from) values[line.substr(3, key_end - 3)] = value;
  }
  return values;
}

}  // namespace

TEST_CASE("the example of docs/metrics.md comes out as the page says") {
  const auto computed = example_metrics();
  const auto documented = documented_values();
  REQUIRE(documented.size() == 10);
  for (const auto& [key, value] : documented) {
    CAPTURE(key);
    REQUIRE(computed.contains(key));
    CHECK(computed.at(key) == doctest::Approx(value).epsilon(1e-9));
  }
}

}  // namespace servecast
