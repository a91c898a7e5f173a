#include "kernels/cuda/attention/latent_decode.cuh"
#include "kernels/cuda/attention/support.hpp"
#include "kernels/cuda/launchers.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {
namespace {

Status check(const LatentDecodeAttention& op, const Target& target) {
  if (target.architecture < 80) return Status::unsupported("latent_decode_attention needs sm_80 or later");
  if (Status status = check_scale(op.scale); !status.ok()) return status;
  if (Status status = check_page_size(op.page_size); !status.ok()) return status;
  if (op.latent == kLatentValues && op.rope == kLatentRope) {
    return check_aligned(op, {"queries", "cache", "workspace", "out"});
  }
  std::string message = "latent_decode_attention on CUDA has latent 512 with rope 64, not ";
  message.append(std::to_string(op.latent)).append(" with ").append(std::to_string(op.rope));
  return Status::unsupported(message);
}

template <class Shape>
Status run(const LatentDecodeAttention& op, DeviceStream stream) {
  using Element = typename Shape::Element;
  const auto sequences = static_cast<std::int64_t>(op.sequences.size());
  const int sequence_rows = op.heads * op.tokens;
  const std::int64_t rows = sequences * sequence_rows;
  LatentArguments<Element> args{};
  args.queries = static_cast<const Element*>(op.queries);
  args.out = static_cast<Element*>(op.out);
  args.partials = partials_of(op.workspace, rows, op.splits, kLatentValues);
  args.contexts = op.contexts;
  args.cache.keys = op.cache;
  args.cache.table = op.table.pages;
  args.cache.table_width = op.table.width;
  args.cache.heads = 1;
  args.cache.page_shift = log2_of(op.page_size);
  args.heads = op.heads;
  args.tokens = op.tokens;
  args.row_groups = (sequence_rows + Shape::kRows - 1) / Shape::kRows;
  args.scale = op.scale * kLog2E;
  const std::int64_t blocks = sequences * op.splits * args.row_groups;
  const Grid grid{dim3(static_cast<unsigned>(blocks)), dim3(Shape::kThreads), LatentShared<Shape>::kBytes, stream};
  const Status status = launch(latent_decode_kernel<Shape>, grid, args);
  if (!status.ok() || op.splits == 1) return status;
  return combine_splits(args.partials, args.out, rows, kLatentValues, stream);
}

}  // namespace

// 64 rows a block read the cache a quarter as often as 16, but take 150 KB of shared memory.
Status launch(const LatentDecodeAttention& op, const Target& target, DeviceStream stream) {
  if (Status status = validate(op); !status.ok()) return status;
  if (Status status = check(op, target); !status.ok()) return status;
  return with_half_type(op.type, target, [&](auto element) {
    using Element = typename decltype(element)::type;
    using Large = LatentShape<Element, 4, 8>;
    using Small = LatentShape<Element, 1, 4>;
    const bool large =
        op.heads * op.tokens > Small::kRows && LatentShared<Large>::kBytes <= target.shared_memory_per_block;
    return large ? run<Large>(op, stream) : run<Small>(op, stream);
  });
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
