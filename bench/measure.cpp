#include "bench/measure.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <sstream>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace servecast::bench {
namespace {

std::vector<std::string> case_arguments(const SimCase& what) {
  return {"--case",
          what.policy,
          std::to_string(what.cap),
          std::to_string(what.requests),
          fmt::format("{}", what.rate),
          fmt::format("{}", what.block_share),
          std::to_string(what.fixed_output),
          what.block_ids ? "ids" : "counts",
          what.files ? "files" : "memory",
          std::to_string(what.replicas),
          what.router,
          std::to_string(static_cast<int>(what.links))};
}

struct Child {
  std::string output;  // stdout and stderr
  long peak_kb = 0;
  int status = 0;
};

Child run_process(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe failed");
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    close(ends[0]);
    std::vector<char*> argv;
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  close(ends[1]);
  Child child;
  char buffer[4096];
  for (ssize_t n = read(ends[0], buffer, sizeof buffer); n > 0; n = read(ends[0], buffer, sizeof buffer)) {
    child.output.append(buffer, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  rusage usage{};
  wait4(pid, &child.status, 0, &usage);
  child.peak_kb = usage.ru_maxrss;
  return child;
}

}  // namespace

int run_child(const std::vector<std::string>& arguments) {
  SimCase what;
  what.policy = arguments.at(0);
  what.cap = std::stoll(arguments.at(1));
  what.requests = std::stoll(arguments.at(2));
  what.rate = std::stod(arguments.at(3));
  what.block_share = std::stod(arguments.at(4));
  what.fixed_output = std::stoll(arguments.at(5));
  what.block_ids = arguments.at(6) == "ids";
  what.files = arguments.at(7) == "files";
  what.replicas = std::stoll(arguments.at(8));
  what.router = arguments.at(9);
  what.links = static_cast<SimCase::Links>(std::stoi(arguments.at(10)));
  const SimTiming t = run(what);
  fmt::print("timing {} {} {} {} {}\n", t.wall_s, t.completed_rate, t.steps, t.preemptions, t.completed);
  return 0;
}

Measured measure(const Self& self, const SimCase& what) {
  std::vector<std::string> command{self.path};
  for (std::string& word : case_arguments(what)) command.push_back(std::move(word));
  const Child child = run_process(command);
  std::istringstream in(child.output);
  std::string word;
  Measured measured;
  SimTiming& t = measured.timing;
  in >> word >> t.wall_s >> t.completed_rate >> t.steps >> t.preemptions >> t.completed;
  if (word != "timing" || !in) throw std::runtime_error("a benchmark case failed: " + child.output);
  measured.peak_bytes = static_cast<double>(child.peak_kb) * 1024.0;
  return measured;
}

std::optional<double> instructions(const Self& self, const SimCase& what) {
  std::vector<std::string> command{"valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                                   "--toggle-collect=*timed_run*", self.path};
  for (std::string& word : case_arguments(what)) command.push_back(std::move(word));
  const Child child = run_process(command);
  const std::size_t at = child.output.find("Collected : ");
  if (at == std::string::npos) return std::nullopt;
  return std::stod(child.output.substr(at + 12));
}

}  // namespace servecast::bench
