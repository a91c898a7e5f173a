// Cases on a back end: uploaded, launched, fetched back and judged.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/cases/case.hpp"
#include "kernels/cases/judgement.hpp"

namespace servecast::kernels {

// How a case lies in the back end's memory. Several copies let a timing rotate through cold buffers: as many as pass
// five times the L2 cache. Without guards an address sanitizer sees the first byte outside an operand.
struct Placement {
  std::int32_t copies = 1;
  std::int64_t guard_bytes = 256;  // before and after each operand; a multiple of 256
};

// Owns the copies' memory; releases it when it goes. The case and the back end must outlive it.
class PlacedCase {
 public:
  PlacedCase(const Case& subject, Backend& backend) : case_(&subject), backend_(&backend) {}
  ~PlacedCase() { release(); }
  PlacedCase(const PlacedCase&) = delete;
  PlacedCase& operator=(const PlacedCase&) = delete;

  // Once. Status::device where there is not that much memory: nothing is kept then.
  Status place(const Placement& placement);
  [[nodiscard]] std::int32_t copies() const { return static_cast<std::int32_t>(copies_.size()); }
  // `call` is taken modulo the copies.
  Status launch(std::int32_t call, Stream stream);
  Status fetch(std::int32_t copy, Outcome& outcome);

 private:
  struct Copied {
    std::vector<void*> blocks;  // guard, operand, guard; null where there are no elements
    Operation operation;
  };

  Status place_copy();
  Status upload(const Operand& operand, void*& block);
  void release();

  const Case* case_;
  Backend* backend_;
  std::int64_t guard_bytes_ = 0;
  std::vector<Copied> copies_;
};

// Places, launches on the default stream, waits and fetches.
Status run(const Case& subject, Backend& backend, const Placement& placement, Outcome& outcome);

// run and judge; what the back end refuses or fails at is the verdict's problem.
[[nodiscard]] Verdict check(const Case& subject, Backend& backend, const Placement& placement = {},
                            const RowSample& sample = {});

}  // namespace servecast::kernels
