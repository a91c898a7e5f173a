#include "app/commands/program.hpp"

#include <CLI/CLI.hpp>
#include <exception>
#include <ostream>

#include "app/commands/commands.hpp"
#include "sim/error.hpp"

namespace servecast {
namespace {

int fail(std::ostream& err, const std::string& message, int code) {
  err << "servecast: error: " << message << std::endl;
  return code;
}

// Help is an error to CLI11, and a success to everybody else.
int parse_failure(CLI::App& program, const CLI::ParseError& error, std::ostream& out, std::ostream& err) {
  if (error.get_exit_code() == 0) return program.exit(error, out, err) == 0 ? kDone : kBadInput;
  return fail(err, std::string(error.what()) + "; see servecast --help", kBadInput);
}

int parse_and_act(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  CLI::App program{"Predicts how a language model will serve: TTFT, TPOT, goodput and KV memory.", "servecast"};
  program.set_version_flag("--version", std::string("servecast ") + SERVECAST_VERSION);
  program.require_subcommand(1);
  program.footer("Exit codes: 0 done, 1 --require-slo not met, 2 bad input, 3 a self-check was breached.");
  const Console console{out, err, arguments};
  Action chosen;
  add_run_command(program, console, chosen);
  add_goodput_command(program, console, chosen);
  add_calibrate_command(program, console, chosen);
  add_model_command(program, console, chosen);
  add_topology_command(program, console, chosen);
  add_trace_command(program, console, chosen);
  add_list_command(program, console, chosen);
  add_schema_command(program, console, chosen);
  try {
    program.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForVersion& version) {
    out << version.what() << "\n";
    return kDone;
  } catch (const CLI::ParseError& error) {
    return parse_failure(program, error, out, err);
  }
  return chosen();
}

}  // namespace

int run_program(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  try {
    const int code = parse_and_act(arguments, out, err);
    out.flush();
    return out ? code : fail(err, "standard output cannot be written", kBadInput);
  } catch (const InputError& error) {
    return fail(err, error.what(), kBadInput);
  } catch (const SelfCheckError& error) {
    return fail(err, std::string("a self-check was breached: ") + error.what(), kInternal);
  } catch (const StalledError& error) {
    return fail(err, error.what(), kInternal);
  } catch (const std::bad_alloc&) {
    return fail(err, "out of memory", kInternal);
  } catch (const std::exception& error) {
    return fail(err, std::string("internal: ") + error.what(), kInternal);
  }
}

}  // namespace servecast
