// What a search over placements found: ranked by goodput per GPU.
#pragma once

#include <string>
#include <vector>

#include "app/commands/goodput_report.hpp"
#include "app/run/placement.hpp"

namespace servecast {

// Most goodput per GPU first; of equal ones the one on fewer GPUs.
void rank(std::vector<GoodputOfPoint>& points);

// One line for each reason: "12 placements left out: prefill over 3: ...".
[[nodiscard]] std::string left_out_notes(const std::vector<LeftOut>& left_out);

// One line a point, ranked.
[[nodiscard]] std::string placements_csv(const Study& study, const std::vector<GoodputOfPoint>& points);

}  // namespace servecast
