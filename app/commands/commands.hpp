// The subcommands. Each adds its own to the program and, when the arguments choose it, leaves in `chosen` what
// to do once they are all parsed.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace servecast {

struct Console {
  std::ostream& out;
  std::ostream& err;
  std::vector<std::string> arguments;  // as typed, without the program's name
};

using Action = std::function<int()>;

void add_run_command(CLI::App& program, const Console& console, Action& chosen);
void add_goodput_command(CLI::App& program, const Console& console, Action& chosen);
void add_calibrate_command(CLI::App& program, const Console& console, Action& chosen);
void add_model_command(CLI::App& program, const Console& console, Action& chosen);
void add_topology_command(CLI::App& program, const Console& console, Action& chosen);
void add_trace_command(CLI::App& program, const Console& console, Action& chosen);
void add_list_command(CLI::App& program, const Console& console, Action& chosen);
void add_schema_command(CLI::App& program, const Console& console, Action& chosen);

}  // namespace servecast
