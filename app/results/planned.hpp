// What a point's experiment came to once its files were read, for the manifest: formats, memory, trace.
#pragma once

#include <string>

#include "app/run/run_point.hpp"

namespace servecast {

// A JSON object.
[[nodiscard]] std::string planned_json(const PreparedPoint& point);

}  // namespace servecast
