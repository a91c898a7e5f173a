// One translation unit a head size: together they are most of the CUDA set's compile time.
#pragma once

#include "kernels/cuda/device.hpp"
#include "kernels/operators/attention.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {

// `op` is checked, and its head size is kHeadDim.
template <int kHeadDim>
Status launch_prefill(const PrefillAttention& op, const Target& target, DeviceStream stream);

extern template Status launch_prefill<64>(const PrefillAttention& op, const Target& target, DeviceStream stream);
extern template Status launch_prefill<128>(const PrefillAttention& op, const Target& target, DeviceStream stream);
extern template Status launch_prefill<256>(const PrefillAttention& op, const Target& target, DeviceStream stream);

}  // namespace servecast::kernels::SERVECAST_DEVICE
