#include "kernels/emulation/launch_check.hpp"

#include <optional>
#include <string>

#include "kernels/emulation/limits.hpp"

namespace servecast::kernels::emulation {
namespace {

std::string text_of(const dim3& extent) {
  std::string text = "(";
  text += std::to_string(extent.x);
  text += ", ";
  text += std::to_string(extent.y);
  text += ", ";
  text += std::to_string(extent.z);
  text += ')';
  return text;
}

bool within(const dim3& extent, const dim3& most) {
  const auto fits = [](unsigned count, unsigned limit) { return count >= 1 && count <= limit; };
  return fits(extent.x, most.x) && fits(extent.y, most.y) && fits(extent.z, most.z);
}

void check_extent(const char* name, const dim3& extent, const dim3& most) {
  if (within(extent, most)) return;
  std::string message = name;
  message += ' ';
  message += text_of(extent);
  message += ": each axis has at least 1, at most ";
  message += text_of(most);
  throw Error(message);
}

void check_shared(const LaunchShape& shape, const Limits& limits) {
  const bool opt_in = shape.shared_opt_in;
  const std::int64_t most = (opt_in ? limits.shared_memory_per_block : kSharedWithoutOptIn) - kStaticAllowance;
  if (shape.shared_bytes >= 0 && shape.shared_bytes <= most) return;
  std::string message = std::to_string(shape.shared_bytes);
  message += " bytes of dynamic shared memory: beside static one a block of sm_";
  message += std::to_string(limits.architecture);
  message += " has at most ";
  message += std::to_string(most);
  message += opt_in ? "" : " without the opt-in";
  throw Error(message);
}

}  // namespace

void check_launch(const Options& options, const LaunchShape& shape) {
  const std::optional<Limits> limits = limits_of(options.architecture);
  if (!limits) {
    std::string message = "the emulator has no table for sm_";
    message += std::to_string(options.architecture);
    throw Error(message);
  }
  check_extent("block", shape.block, limits->block);
  check_extent("grid", shape.grid, limits->grid);
  if (shape.block.count() > limits->threads_per_block) {
    std::string message = "block ";
    message += text_of(shape.block);
    message += ": more than ";
    message += std::to_string(limits->threads_per_block);
    message += " threads";
    throw Error(message);
  }
  check_shared(shape, *limits);
}

}  // namespace servecast::kernels::emulation
