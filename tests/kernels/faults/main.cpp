// Runs cases of one operator under emulation and says what it saw: the eyes of planted_faults.py, and what sanitizers
// are run on.
//
// Usage: runner operators
//        runner cases|far OPERATOR FILTER lazy|eager SEED [MOST_FLOPS]
// The first prints the operators' names, a line each. The second prints "KIND: CASE: problem" for the first of each
// kind and "N cases", and exits with 1 if there was a problem.
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "kernels/cases/lists.hpp"
#include "kernels/cases/run.hpp"
#include "kernels/emulation/backend.hpp"
#include "tests/kernels/support/far_pages.hpp"

namespace {

using namespace servecast::kernels;

// What found it, from how the judgement puts it.
std::string kind_of(const std::string& problem) {
  if (problem.find("differs beyond 4 GB") != std::string::npos) return "far pages";
  if (problem.find("outside its bounds") != std::string::npos) return "guard";
  if (problem.find("input was written") != std::string::npos) return "input";
  if (problem.find("untouched") != std::string::npos || problem.find("must stay") != std::string::npos)
    return "untouched";
  if (problem.find("NaN") != std::string::npos) return "NaN";
  if (problem.find("relative error") != std::string::npos) return "wrong numbers";
  if (problem.find("in place of") != std::string::npos) return "wrong numbers";
  return "emulator";
}

std::string problem_of(const CaseShape& shape, bool far, Backend& backend) {
  const Case subject(shape);
  return far ? far_problem(subject, backend) : check(subject, backend).problem;
}

template <std::size_t... kIndices>
void print_operators(std::index_sequence<kIndices...>) {
  for (const auto name : {name_of(Operation(std::in_place_index<kIndices>))...}) std::puts(std::string(name).c_str());
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && std::string(arguments[1]) == "operators") {
    print_operators(std::make_index_sequence<std::variant_size_v<Operation>>());
    return 0;
  }
  if (count < 6) return 2;
  const double most_flops = count > 6 ? std::strtod(arguments[6], nullptr) : std::numeric_limits<double>::infinity();
  const bool far = std::string(arguments[1]) == "far";
  EmulationOptions options;
  options.emulator.async_copy =
      std::string(arguments[4]) == "eager" ? emulation::AsyncCopy::kEager : emulation::AsyncCopy::kLazy;
  options.emulator.seed = std::strtoull(arguments[5], nullptr, 10);
  const auto backend = make_emulated_backend(options);
  std::map<std::string, int> found;
  int cases = 0;
  for (const CaseShape& shape : case_shapes(CaseSet::kCuda, arguments[2])) {
    if (shape.name.find(arguments[3]) == std::string::npos) continue;
    if (work(Case(shape).operation()).flops > most_flops) continue;
    ++cases;
    const std::string problem = problem_of(shape, far, *backend);
    if (problem.empty()) continue;
    const std::string kind = kind_of(problem);
    if (found[kind]++ == 0) std::printf("%s: %s: %s\n", kind.c_str(), shape.name.c_str(), problem.c_str());
    std::fflush(stdout);
  }
  std::printf("%d cases\n", cases);
  return found.empty() ? 0 : 1;
}
