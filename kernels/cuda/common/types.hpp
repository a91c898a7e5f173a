// From a type's name at run time to the kernel of that type, or the reason why there is none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "kernels/cuda/device.hpp"
#include "kernels/dtype.hpp"
#include "kernels/status.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {

template <class T>
struct Type {
  using type = T;
};

inline Status lacks_bf16(const Target& target) {
  if (target.architecture >= 80) return {};
  return Status::unsupported("bf16 needs sm_80 or later; sm_75 has fp16");
}

inline Status lacks_fp8(const Target& target) {
  if (target.architecture >= 80) return {};
  return Status::unsupported("fp8 needs sm_80 or later; sm_75 has fp16 and int8");
}

// Calls `call` with Type<F16> or Type<Bf16>.
template <class Call>
Status with_half_type(DType type, const Target& target, Call&& call) {
  if (type == DType::kF16) return call(Type<F16>{});
  if (type == DType::kBf16) {
    const Status status = lacks_bf16(target);
    return status.ok() ? call(Type<Bf16>{}) : status;
  }
  std::string message{name_of(type)};
  return Status::unsupported(message.append(" is not a type of the CUDA set, which computes in bf16 and f16"));
}

inline constexpr std::int64_t kMostBlocks = 65535;  // along a grid's y, and along its z

// Blocks along a grid's y for a kernel that strides over what exceeds them.
inline unsigned grid_extent(std::int64_t blocks) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(blocks, 1, kMostBlocks));
}

// Threads for a row of `items`, in whole warps.
inline unsigned threads_for(std::int64_t items, std::int64_t most) {
  return static_cast<unsigned>(std::clamp<std::int64_t>((items + 31) / 32 * 32, 32, most));
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
