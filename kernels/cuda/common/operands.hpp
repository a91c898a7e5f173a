// What launchers ask of operands and of the grid before a kernel takes them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "kernels/cuda/common/types.hpp"
#include "kernels/operators/operator.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {

// Kernels without a way for every address move these operands by 16 bytes.
template <class Op>
Status check_aligned(Op op, std::initializer_list<std::string_view> names) {
  Status status;
  for_each_buffer(op, [&](const Buffer& buffer, const void* data) {
    const bool moves_wide = std::find(names.begin(), names.end(), buffer.name) != names.end();
    if (!status.ok() || !moves_wide || reinterpret_cast<std::uintptr_t>(data) % 16 == 0) return;
    std::string message{buffer.name};
    status = Status::invalid(message.append(": the operand begins on no multiple of 16 bytes"));
  });
  return status;
}

// Blocks along a grid's y or z, of a kernel that does not stride over them.
inline Status check_blocks(std::int64_t blocks, std::string_view what) {
  if (blocks <= kMostBlocks) return {};
  std::string message{what};
  message.append(" take ").append(std::to_string(blocks)).append(" blocks along an axis of the grid, which holds ");
  return Status::unsupported(message.append(std::to_string(kMostBlocks)));
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
