#include "kernels/cuda/attention/decode.hpp"
#include "kernels/cuda/attention/partial.cuh"
#include "kernels/cuda/attention/support.hpp"
#include "kernels/cuda/launchers.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {
namespace {

Status launch_splits(const DecodeAttention& op, const Target& target, DeviceStream stream) {
  switch (op.kv.head_dim) {
    case 64:
      return launch_decode<64>(op, target, stream);
    case 128:
      return launch_decode<128>(op, target, stream);
    default:
      return launch_decode<256>(op, target, stream);
  }
}

}  // namespace

Status launch(const DecodeAttention& op, const Target& target, DeviceStream stream) {
  if (Status status = validate(op); !status.ok()) return status;
  if (Status status = check_paged(op, target); !status.ok()) return status;
  Status status = launch_splits(op, target, stream);
  if (!status.ok() || op.splits == 1) return status;
  return with_half_type(op.type, target, [&](auto element) {
    using Element = typename decltype(element)::type;
    const std::int64_t rows = static_cast<std::int64_t>(op.sequences.size()) * op.tokens * op.heads;
    const Partials partials = partials_of(op.workspace, rows, op.splits, op.kv.head_dim);
    return combine_splits(partials, static_cast<Element*>(op.out), rows, op.kv.head_dim, stream);
  });
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
