// Operands for measuring: random numbers made on the device, and indices that are valid and scattered.
#pragma once

#include <cstdint>

#include "kernels/cases/random.hpp"
#include "kernels/gpu_check/arena.hpp"

namespace servecast::kernels::gpu_check {

// Bytes that one set of an operation's operands takes in an arena.
[[nodiscard]] std::int64_t operand_bytes(const Operation& shape);

// `placed` becomes the shape with operands in the arena. kUnsupported where they do not fit. Copies may still be
// under way: synchronize before the operation is launched.
Status place(const Operation& shape, Arena& arena, Backend& backend, Random& random, Operation& placed);

}  // namespace servecast::kernels::gpu_check
