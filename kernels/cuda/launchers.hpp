// The launchers, one an operator: each validates, refuses what the target does not have, launches on the stream, and
// returns. None waits for the device or allocates.
#pragma once

#include <variant>

#include "kernels/cuda/device.hpp"
#include "kernels/operation.hpp"
#include "kernels/status.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {

Status launch(const PrefillAttention& op, const Target& target, DeviceStream stream);
Status launch(const DecodeAttention& op, const Target& target, DeviceStream stream);
Status launch(const LatentDecodeAttention& op, const Target& target, DeviceStream stream);
Status launch(const NaiveAttention& op, const Target& target, DeviceStream stream);
Status launch(const AppendKv& op, const Target& target, DeviceStream stream);
Status launch(const CopyBlocks& op, const Target& target, DeviceStream stream);
Status launch(const GatherBlocks& op, const Target& target, DeviceStream stream);
Status launch(const RmsNorm& op, const Target& target, DeviceStream stream);
Status launch(const Activation& op, const Target& target, DeviceStream stream);
Status launch(const Embedding& op, const Target& target, DeviceStream stream);
Status launch(const Gemm& op, const Target& target, DeviceStream stream);
Status launch(const GroupedGemm& op, const Target& target, DeviceStream stream);
Status launch(const RouteExperts& op, const Target& target, DeviceStream stream);
Status launch(const CombineExperts& op, const Target& target, DeviceStream stream);
Status launch(const Sample& op, const Target& target, DeviceStream stream);
Status launch(const VerifyDraft& op, const Target& target, DeviceStream stream);

inline Status launch(const Operation& operation, const Target& target, DeviceStream stream) {
  return std::visit([&](const auto& op) { return launch(op, target, stream); }, operation);
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
