// Numbers that several families of kernels compute with.
#pragma once

#include "kernels/cuda/device.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {

inline constexpr float kLog2E = 1.44269504088896340736F;

}  // namespace servecast::kernels::SERVECAST_DEVICE
