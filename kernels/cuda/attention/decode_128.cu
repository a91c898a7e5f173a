#include "kernels/cuda/attention/decode_launch.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

template Status launch_decode<128>(const DecodeAttention& op, const Target& target, DeviceStream stream);

}  // namespace servecast::kernels::SERVECAST_DEVICE
