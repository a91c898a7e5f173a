// Launchers of norms, activations and embedding.
#include "kernels/cuda/common/move_rows.cuh"
#include "kernels/cuda/common/types.hpp"
#include "kernels/cuda/elementwise/activation.cuh"
#include "kernels/cuda/elementwise/rms_norm.cuh"
#include "kernels/cuda/launchers.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {
namespace {

template <class T, int kCount>
Status launch_rms_norm(const RmsNorm& op, DeviceStream stream) {
  const RmsNormRows<T> rows{static_cast<const T*>(op.x),
                            op.adds_residual ? static_cast<T*>(op.residual) : nullptr,
                            static_cast<const T*>(op.weight),
                            static_cast<T*>(op.out),
                            op.width,
                            op.epsilon};
  const Grid grid{dim3(static_cast<unsigned>(op.rows)), dim3(threads_for(op.width / kCount, 1024)), 0, stream};
  return launch(rms_norm_kernel<T, kCount>, grid, rows);
}

template <class T, ActivationKind kKind, int kCount>
Status launch_activation(const Activation& op, DeviceStream stream) {
  const std::int64_t items = op.width / kCount;
  const unsigned threads = threads_for(items, 256);
  const Grid grid{dim3(static_cast<unsigned>(op.rows), grid_extent(ceil_div(items, threads))), dim3(threads), 0,
                  stream};
  return launch(activation_kernel<T, kKind, kCount>, grid, static_cast<const T*>(op.x), static_cast<T*>(op.out),
                op.width);
}

template <class T, ActivationKind kKind>
Status launch_activation_of_kind(const Activation& op, DeviceStream stream) {
  const bool wide = aligned_rows<T>(op.x, op.width, kWide) && aligned_rows<T>(op.out, op.width, kWide);
  return wide ? launch_activation<T, kKind, kWide>(op, stream) : launch_activation<T, kKind, 1>(op, stream);
}

}  // namespace

Status launch(const RmsNorm& op, const Target& target, DeviceStream stream) {
  if (Status status = validate(op); !status.ok()) return status;
  return with_half_type(op.type, target, [&](auto type) {
    using T = typename decltype(type)::type;
    bool wide = true;
    for (const void* base :
         {op.x, static_cast<const void*>(op.residual), op.weight, static_cast<const void*>(op.out)}) {
      wide = wide && aligned_rows<T>(base, op.width, kWide);
    }
    return wide ? launch_rms_norm<T, kWide>(op, stream) : launch_rms_norm<T, 1>(op, stream);
  });
}

Status launch(const Activation& op, const Target& target, DeviceStream stream) {
  if (Status status = validate(op); !status.ok()) return status;
  return with_half_type(op.type, target, [&](auto type) -> Status {
    using T = typename decltype(type)::type;
    switch (op.kind) {
      case ActivationKind::kSiluMul:
        return launch_activation_of_kind<T, ActivationKind::kSiluMul>(op, stream);
      case ActivationKind::kGeluMul:
        return launch_activation_of_kind<T, ActivationKind::kGeluMul>(op, stream);
      case ActivationKind::kGelu:
        return launch_activation_of_kind<T, ActivationKind::kGelu>(op, stream);
    }
    return Status::invalid("an activation of no known kind");
  });
}

Status launch(const Embedding& op, const Target& target, DeviceStream stream) {
  if (Status status = validate(op); !status.ok()) return status;
  return with_half_type(op.type, target, [&](auto type) {
    using T = typename decltype(type)::type;
    const bool wide = aligned_rows<T>(op.table, op.width, kWide) && aligned_rows<T>(op.out, op.width, kWide);
    const RowMoves moves{op.ids, nullptr, 1, wide ? op.width / kWide : op.width};
    return wide ? move_rows<uint4>(op.table, op.out, op.tokens, moves, stream)
                : move_rows<std::uint16_t>(op.table, op.out, op.tokens, moves, stream);
  });
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
