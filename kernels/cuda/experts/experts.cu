// Launchers of what stands around the grouped products of a mixture of experts.
#include "kernels/cuda/common/types.hpp"
#include "kernels/cuda/experts/combine.cuh"
#include "kernels/cuda/experts/route.cuh"
#include "kernels/cuda/launchers.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {
namespace {

template <class T, int kCount>
Status launch_combine(const CombineExperts& op, DeviceStream stream) {
  const std::int64_t items = op.width / kCount;
  const unsigned threads = threads_for(items, 256);
  const Grid grid{dim3(static_cast<unsigned>(op.tokens), grid_extent(ceil_div(items, threads))), dim3(threads), 0,
                  stream};
  return launch(combine_experts_kernel<T, kCount>, grid, op.weights, op.positions, static_cast<const T*>(op.rows),
                static_cast<T*>(op.out), op.chosen, op.width);
}

}  // namespace

Status launch(const RouteExperts& op, const Target& /*target*/, DeviceStream stream) {
  if (Status status = validate(op); !status.ok()) return status;
  const Routing routing{op.logits,    op.weights, op.choices, op.offsets, op.gather,
                        op.positions, op.tokens,  op.experts, op.chosen,  op.renormalise};
  const auto token_blocks = static_cast<unsigned>(ceil_div(op.tokens, kRouteThreads / 32));
  const Grid by_token{dim3(token_blocks), dim3(kRouteThreads), 0, stream};
  if (Status status = launch(choose_experts_kernel, by_token, routing); !status.ok()) return status;
  const Grid by_expert{dim3(static_cast<unsigned>(op.experts)), dim3(kRouteThreads), 0, stream};
  return launch(sort_by_expert_kernel, by_expert, routing);
}

Status launch(const CombineExperts& op, const Target& target, DeviceStream stream) {
  if (Status status = validate(op); !status.ok()) return status;
  return with_half_type(op.type, target, [&](auto type) {
    using T = typename decltype(type)::type;
    const bool wide = aligned_rows<T>(op.rows, op.width, kWide) && aligned_rows<T>(op.out, op.width, kWide);
    return wide ? launch_combine<T, kWide>(op, stream) : launch_combine<T, 1>(op, stream);
  });
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
