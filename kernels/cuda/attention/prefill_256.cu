#include "kernels/cuda/attention/prefill_launch.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

template Status launch_prefill<256>(const PrefillAttention& op, const Target& target, DeviceStream stream);

}  // namespace servecast::kernels::SERVECAST_DEVICE
