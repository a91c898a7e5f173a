// Launchers of what turns logits and probabilities into tokens.
#include "kernels/cuda/common/types.hpp"
#include "kernels/cuda/launchers.hpp"
#include "kernels/cuda/sampling/sample.cuh"
#include "kernels/cuda/sampling/verify_draft.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {
namespace {

// What the masses of sample.cuh can add up.
constexpr std::int32_t kMaxVocabulary = 1 << 19;

template <class T>
Status launch_sample(const Sample& op, DeviceStream stream) {
  const SampleRows rows{op.uniforms, op.tokens, op.vocabulary, op.top_k, op.top_p, op.temperature};
  const Grid grid{dim3(static_cast<unsigned>(op.rows)), dim3(threads_for(op.vocabulary, kRowThreads)), 0, stream};
  return launch(sample_kernel<T>, grid, static_cast<const T*>(op.logits), rows);
}

}  // namespace

Status launch(const Sample& op, const Target& target, DeviceStream stream) {
  if (Status status = validate(op); !status.ok()) return status;
  if (op.vocabulary > kMaxVocabulary)
    return Status::unsupported("sampling takes vocabularies of at most 524288 tokens");
  if (op.type == DType::kF32) return launch_sample<float>(op, stream);
  return with_half_type(op.type, target,
                        [&](auto type) { return launch_sample<typename decltype(type)::type>(op, stream); });
}

Status launch(const VerifyDraft& op, const Target& /*target*/, DeviceStream stream) {
  if (Status status = validate(op); !status.ok()) return status;
  const DraftRows rows{op.target,   op.draft,  op.proposed, op.uniforms,
                       op.accepted, op.tokens, op.drafted,  op.vocabulary};
  // At least two warps: each sequence's tokens are written by a thread each, 64 at most.
  const unsigned threads = threads_for(op.vocabulary < 64 ? 64 : op.vocabulary, kRowThreads);
  return launch(verify_draft_kernel, Grid{dim3(static_cast<unsigned>(op.sequences)), dim3(threads), 0, stream}, rows);
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
