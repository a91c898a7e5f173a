// The numbers of a run under the names that files give them. Every key ends in its unit or in what it counts;
// docs/results.md lists them all, docs/metrics.md says how each is computed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/run/run_point.hpp"

namespace servecast {

// No value where nothing was measured (a TPOT when no answer has two tokens), never a zero instead.
using MetricValue = std::variant<std::monostate, std::int64_t, double>;

struct Metric {
  std::string key;
  MetricValue value;
};

// In the order of the files; the same keys for every point of every study.
[[nodiscard]] std::vector<Metric> metrics_of(const PreparedPoint& point, const PointResult& result);

// The distributions of a summary, with what each is over.
struct NamedDistribution {
  std::string_view name;        // "ttft"
  std::string_view unit;        // "s"
  std::string_view population;  // "completed requests of the window"
  Distribution Summary::*values;
};
[[nodiscard]] const std::array<NamedDistribution, 8>& distributions();

// Keys of the percentiles that fewer than ten samples lie beyond.
[[nodiscard]] std::vector<std::string> thin_percentiles(const Summary& summary);

}  // namespace servecast
