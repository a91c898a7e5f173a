// Prompt and output lengths of one request after the other.
#pragma once

#include <cstdint>
#include <memory>

#include "traces/workload.hpp"

namespace servecast {

struct LengthPair {
  Tokens prompt;
  Tokens output;
  std::uint64_t affinity = 0;  // as Arrival has it
};

class LengthPairs {
 public:
  virtual ~LengthPairs() = default;
  // Requires that no more are asked for than the trace holds, where the rows are neither cycled nor resampled.
  virtual LengthPair next() = 0;
};

// `trace` must outlive the result. Throws InputError where it is needed and absent or empty.
[[nodiscard]] std::unique_ptr<LengthPairs> make_length_pairs(const WorkloadLengths& lengths, const Trace* trace,
                                                             std::uint64_t seed);

}  // namespace servecast
