// The files of a whole study: manifest.json (how the results were made) and table.csv (one line a point).
#pragma once

#include <string>
#include <vector>

#include "app/run/inputs.hpp"
#include "app/run/run_point.hpp"

namespace servecast {

struct RunFacts {
  std::vector<std::string> command;    // as typed
  std::vector<std::string> overrides;  // --set
  std::vector<InputFile> inputs;
  double wall_s = 0;
};

// Every file that the study was read from, each once.
[[nodiscard]] std::vector<InputFile> inputs_of(const Study& study, const std::vector<PreparedPoint>& points,
                                               const TraceCache& traces);

// The only file that may differ between two runs of one experiment: it holds the command and the time it took.
[[nodiscard]] std::string manifest_json(const Study& study, const std::vector<PreparedPoint>& points,
                                        const RunFacts& facts);

[[nodiscard]] std::string table_csv(const Study& study, const std::vector<PreparedPoint>& points,
                                    const std::vector<PointResult>& results);

// Quoted where CSV (RFC 4180) needs it.
[[nodiscard]] std::string csv_cell(const std::string& text);

}  // namespace servecast
