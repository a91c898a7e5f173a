// Products by cuBLASLt for correctness: only a real GPU has them, so that they are in no list of kernels/cases/.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cases/case.hpp"

namespace servecast::kernels::gpu_check {

// All that an architecture's library does: weights of the inputs' type, dequantised int8 and int4, and from sm_89 on
// fp8. Equally many of each kind, one kind after another.
[[nodiscard]] std::vector<CaseShape> library_cases(std::int32_t architecture);

}  // namespace servecast::kernels::gpu_check
