#include "kernels/cpu/host.hpp"

#include <fstream>
#include <string_view>

namespace servecast::kernels::cpu {
namespace {

// What follows the first `key` and its colon in a file of such lines.
std::string value_of(const char* file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    if (line.compare(0, key.size(), key) != 0 || colon == std::string::npos) continue;
    const std::size_t first = line.find_first_not_of(" \t", colon + 1);
    return first == std::string::npos ? std::string() : line.substr(first);
  }
  return {};
}

// A number in KiB as the kernel writes it: "2048K", "23456789 kB".
std::int64_t kibibytes(const std::string& text) {
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') break;
    value = 10 * value + (c - '0');
  }
  return 1024 * value;
}

}  // namespace

std::string processor_name() {
  const std::string name = value_of("/proc/cpuinfo", "model name");
  return name.empty() ? "CPU" : name;
}

std::int64_t memory_bytes() { return kibibytes(value_of("/proc/meminfo", "MemTotal")); }

std::int64_t l2_bytes() {
  std::ifstream in("/sys/devices/system/cpu/cpu0/cache/index2/size");
  std::string text;
  std::getline(in, text);
  return kibibytes(text);
}

}  // namespace servecast::kernels::cpu
