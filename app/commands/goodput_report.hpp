// What `servecast goodput` says: a table for people, JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "app/run/goodput.hpp"

namespace servecast {

// One point of the grid, searched with several seeds.
struct GoodputOfPoint {
  const PreparedPoint* point = nullptr;
  std::vector<GoodputFound> seeds;

  // Over the seeds: 0 where none of the rates met.
  [[nodiscard]] double mean_rate_per_s() const;
  [[nodiscard]] double least_rate_per_s() const;
  [[nodiscard]] double most_rate_per_s() const;
  [[nodiscard]] std::size_t runs() const;
};

[[nodiscard]] std::string goodput_table(const Study& study, const std::vector<GoodputOfPoint>& points);
// What was searched and how sure it is; each note once.
[[nodiscard]] std::string goodput_notes(const std::vector<GoodputOfPoint>& points, double tolerance);
[[nodiscard]] std::string goodput_json(const std::vector<GoodputOfPoint>& points, double tolerance);

}  // namespace servecast
