#include "kernels/gpu_check/process.hpp"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace servecast::kernels::gpu_check {
namespace {

Ended ended_with(int status) {
  if (WIFSIGNALED(status)) return {Ended::How::kSignal, WTERMSIG(status)};
  return {Ended::How::kExit, WEXITSTATUS(status)};
}

Ended wait_for(pid_t child, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (Clock::now() >= deadline) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return {Ended::How::kDeadline, 0};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return ended_with(status);
}

}  // namespace

std::string Ended::text() const {
  switch (how) {
    case How::kExit:
      return "exit " + std::to_string(code);
    case How::kSignal:
      return "signal " + std::to_string(code);
    case How::kDeadline:
      return "stopped at its deadline";
    case How::kNotStarted:
      break;
  }
  return "did not start";
}

Ended run_process(const std::vector<std::string>& arguments, double seconds, const std::string& log) {
  std::vector<char*> raw;
  raw.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!log.empty()) {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  }
  pid_t child = 0;
  const int error = posix_spawnp(&child, raw.front(), &actions, nullptr, raw.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? wait_for(child, seconds) : Ended{};
}

}  // namespace servecast::kernels::gpu_check
