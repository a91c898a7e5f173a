// Runs CUDA kernels, compiled as C++, on the CPU with the semantics of a GPU: threads in warps and blocks, shared
// memory, barriers, warp operations, asynchronous copies and tensor cores. It finds misuse that a GPU leaves undefined
// and says which thread did what on which line.
//
// Each thread of a block is a fiber; all fibers of a block share one OS thread, and blocks run one after another.
// So `__shared__` variables are `static`, and one launch runs at a time in a process (others wait for it). A block
// that waits for another block is a deadlock. Two things differ for static shared memory: it counts as the same for
// every kernel (kStaticAllowance), and a block finds what the one before left (only dynamic one is poisoned).
// Not modelled: time, bank conflicts, registers, weak memory order, bulk copies (TMA), mbarriers, wgmma and clusters.
//
// Sanitizers: compile the kernels with -fsanitize=address to find what they read and write out of bounds, or with
// -fsanitize=thread to find their data races; compile this folder without (see sanitizers.hpp).
#pragma once

#include <cstdint>
#include <stdexcept>

#include "kernels/emulation/builtin_types.hpp"

namespace servecast::kernels::emulation {

// When the bytes of an asynchronous copy arrive. A kernel must be right with both.
enum class AsyncCopy : std::uint8_t {
  kLazy,   // at the wait: shows a missing wait or barrier before the data is read
  kEager,  // at the issue: shows a missing barrier before the buffer is written again
};

struct Options {
  int architecture = 90;   // whose limits and instructions hold, see limits.hpp
  std::uint64_t seed = 0;  // 0: blocks and threads run in order; else both in an order drawn from the seed
  AsyncCopy async_copy = AsyncCopy::kLazy;
  bool poison_shared = true;  // dynamic shared memory of every block begins as bytes of 0xFF: NaN, −1
};

struct LaunchShape {
  dim3 grid;
  dim3 block;
  std::int64_t shared_bytes = 0;  // dynamic
  bool shared_opt_in = false;     // allows more than 48 KB in all, as cudaFuncAttributeMaxDynamicSharedMemorySize does
};

// A kernel that breaks the rules, or a launch beyond the limits. The threads of the block are dropped where they
// stand: destructors of their local objects do not run.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What a launch did.
struct Counts {
  std::uint64_t switches = 0;  // from fiber to fiber
  std::uint64_t barriers = 0;  // of whole blocks
  std::uint64_t warp_operations = 0;
  std::uint64_t matrix_products = 0;  // mma, one a warp
};

// The kernel with its arguments. Called once by every thread of the grid.
struct Body {
  void (*call)(void* context) = nullptr;
  void* context = nullptr;
};

// Runs the whole grid and returns when it is done. Throws Error.
Counts run(const Options& options, const LaunchShape& shape, Body body);

}  // namespace servecast::kernels::emulation
