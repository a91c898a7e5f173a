#include "kernels/cuda/attention/naive.cuh"
#include "kernels/cuda/common/operands.hpp"
#include "kernels/cuda/common/types.hpp"
#include "kernels/cuda/launchers.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {
namespace {

unsigned tiles_of(std::int64_t count) { return static_cast<unsigned>(ceil_div(count, kNaiveTile)); }

template <class Element>
Status run(const NaiveAttention& op, DeviceStream stream) {
  const NaiveArguments<Element> args{static_cast<const Element*>(op.queries),
                                     static_cast<const Element*>(op.keys),
                                     static_cast<const Element*>(op.values),
                                     op.scores,
                                     static_cast<Element*>(op.out),
                                     op.heads,
                                     op.kv_heads,
                                     op.head_dim,
                                     op.query_tokens,
                                     op.key_tokens,
                                     op.scale};
  const auto heads = static_cast<unsigned>(op.heads);
  const unsigned query_tiles = tiles_of(op.query_tokens);
  const auto grid = [&](const dim3& blocks) { return Grid{blocks, dim3(kNaiveThreads), 0, stream}; };
  const Status scored = launch(naive_scores_kernel<Element>, grid({tiles_of(op.key_tokens), query_tiles, heads}), args);
  if (!scored.ok()) return scored;
  const Status softmaxed =
      launch(naive_softmax_kernel<Element>, grid({static_cast<unsigned>(op.query_tokens), heads}), args);
  if (!softmaxed.ok()) return softmaxed;
  return launch(naive_values_kernel<Element>, grid({tiles_of(op.head_dim), query_tiles, heads}), args);
}

}  // namespace

Status launch(const NaiveAttention& op, const Target& target, DeviceStream stream) {
  if (Status status = validate(op); !status.ok()) return status;
  if (Status status = check_blocks(op.heads, "heads"); !status.ok()) return status;
  return with_half_type(op.type, target,
                        [&](auto element) { return run<typename decltype(element)::type>(op, stream); });
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
