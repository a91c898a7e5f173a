// Matrix products by cuBLASLt, which is loaded at run time: nothing of ours links it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/device.hpp"
#include "kernels/operators/gemm.hpp"
#include "kernels/status.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {

// Where the library is looked for, in this order: by its name alone, where the loader looks; in CUDA's folder; in the
// nvidia packages of a Python environment. Newer versions come first.
[[nodiscard]] std::vector<std::string> cublaslt_paths();

// The first launch of all loads the library; kUnsupported where none is found, with the places that were searched.
// The first launch of a shape asks the library which algorithm suits it, under the operation's workspace; all launches
// of that shape then use it. Quantised weights are written out to the beginning of the workspace, and the library works
// with what remains. `op` is valid.
Status launch_library(const Gemm& op, const Target& target, DeviceStream stream);

// Bytes of workspace that quantised weights take before the library's own; 0 for others.
[[nodiscard]] std::int64_t dequantised_bytes(const Gemm& op);

}  // namespace servecast::kernels::SERVECAST_DEVICE
