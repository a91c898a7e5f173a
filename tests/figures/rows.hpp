// The rows of the two documents that no test checks, or not wholly, and why.
#pragma once

#include <string_view>
#include <vector>

namespace servecast::figures {

struct Row {
  std::string_view id;
  std::string_view why;
  bool partly = false;  // a test checks the rest of it
};

// Rows that wait for a part of servecast: what they wait for.
[[nodiscard]] const std::vector<Row>& not_yet();

// Rows that no simulator of serving can show.
[[nodiscard]] const std::vector<Row>& not_a_simulators();

}  // namespace servecast::figures
