// Drives a fuzz target where the compiler brings no fuzzer: mutates seed inputs with a fixed seed for a given time.
// Takes libFuzzer's options of the same name: -max_total_time=SECONDS -seed=N FOLDER_OF_SEEDS...
// An input that crashes, or takes longer than kInputSeconds, is written to PROGRAM.crash in the working directory.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sanitizer/common_interface_defs.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "tests/fuzz/mutate.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr unsigned kInputSeconds = 10;

struct Options {
  std::chrono::seconds budget{1};
  std::uint64_t seed = 1;
  std::vector<std::filesystem::path> seeds;
};

// Global because the handlers of a dying process see nothing else.
// A vector, because the byte past its end is not ours to read: a string's terminator would hide that fault.
std::vector<char> current_input;
std::string crash_file;

void save_current_input() {
  std::ofstream(crash_file, std::ios::binary)
      .write(current_input.data(), static_cast<std::streamsize>(current_input.size()));
  std::fprintf(stderr, "\nthe input is in %s\n", crash_file.c_str());
}

void fail_on_signal(int signal) {
  std::fputs(signal == SIGALRM ? "an input takes too long" : "aborted", stderr);
  save_current_input();
  _exit(1);
}

void run(const std::string& input) {
  current_input = std::vector<char>(input.begin(), input.end());
  alarm(kInputSeconds);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(current_input.data()), current_input.size());
  alarm(0);
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Options parse(const std::vector<std::string_view>& arguments) {
  constexpr std::string_view kTime = "-max_total_time=";
  constexpr std::string_view kSeed = "-seed=";
  Options options;
  for (const std::string_view argument : arguments) {
    if (argument.starts_with(kTime)) {
      options.budget = std::chrono::seconds{std::stol(std::string{argument.substr(kTime.size())})};
    } else if (argument.starts_with(kSeed)) {
      options.seed = std::stoull(std::string{argument.substr(kSeed.size())});
    } else {
      options.seeds.emplace_back(argument);
    }
  }
  return options;
}

// In the order of their names, so that the same seed meets the same inputs; the empty input is always among them.
std::vector<std::string> load_seeds(const std::vector<std::filesystem::path>& folders) {
  std::vector<std::filesystem::path> paths;
  for (const auto& folder : folders) {
    if (!std::filesystem::is_directory(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> inputs{""};
  for (const auto& path : paths) inputs.push_back(read(path));
  return inputs;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse({argv + 1, argv + argc});
  crash_file = std::filesystem::path(argv[0]).filename().string() + ".crash";
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_set_death_callback(save_current_input);
#endif
  std::signal(SIGABRT, fail_on_signal);
  std::signal(SIGALRM, fail_on_signal);

  const std::vector<std::string> seeds = load_seeds(options.seeds);
  for (const std::string& seed : seeds) run(seed);
  servecast::fuzz::Mutator mutator(seeds, options.seed);
  const auto end = std::chrono::steady_clock::now() + options.budget;
  std::size_t inputs = seeds.size();
  for (; std::chrono::steady_clock::now() < end; ++inputs) run(mutator.next());
  std::printf("%zu inputs from %zu seeds, no finding\n", inputs, seeds.size());
}
