// An operation's shape as fields of a measurement: what a cost model needs to know it by.
#pragma once

#include "kernels/gpu_check/json.hpp"
#include "kernels/operation.hpp"

namespace servecast::kernels::gpu_check {

// "operator", "dtype", and the fields that docs/kernels.md lists for it. Sequences are "sequences": how many, with
// "query_tokens", "context_tokens" and "pairs" (of a query and a key that it sees) in all, and "longest_context".
[[nodiscard]] JsonObject shape_fields(const Operation& operation);

}  // namespace servecast::kernels::gpu_check
