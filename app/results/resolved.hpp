// An experiment as it was understood, every default filled in, for the manifest.
#pragma once

#include <string>

#include "app/run/run_point.hpp"

namespace servecast {

// A JSON object.
[[nodiscard]] std::string resolved_json(const PreparedPoint& point);

}  // namespace servecast
