#include "kernels/cuda/attention/prefill.hpp"
#include "kernels/cuda/attention/support.hpp"
#include "kernels/cuda/launchers.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {

Status launch(const PrefillAttention& op, const Target& target, DeviceStream stream) {
  if (Status status = validate(op); !status.ok()) return status;
  if (Status status = check_paged(op, target); !status.ok()) return status;
  switch (op.kv.head_dim) {
    case 64:
      return launch_prefill<64>(op, target, stream);
    case 128:
      return launch_prefill<128>(op, target, stream);
    default:
      return launch_prefill<256>(op, target, stream);
  }
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
