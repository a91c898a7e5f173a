// One translation unit a head size, as of prefill.
#pragma once

#include "kernels/cuda/device.hpp"
#include "kernels/operators/attention.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {

// `op` is checked, and its head size is kHeadDim. Launches the splits; combining them is the caller's.
template <int kHeadDim>
Status launch_decode(const DecodeAttention& op, const Target& target, DeviceStream stream);

extern template Status launch_decode<64>(const DecodeAttention& op, const Target& target, DeviceStream stream);
extern template Status launch_decode<128>(const DecodeAttention& op, const Target& target, DeviceStream stream);
extern template Status launch_decode<256>(const DecodeAttention& op, const Target& target, DeviceStream stream);

}  // namespace servecast::kernels::SERVECAST_DEVICE
