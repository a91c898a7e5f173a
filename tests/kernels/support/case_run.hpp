// Runs the cases of one operation on back ends and reports each that is wrong by its name.
#pragma once

#include <doctest/doctest.h>
#include <string_view>

#include "kernels/cases/lists.hpp"
#include "kernels/cases/run.hpp"

namespace servecast::kernels {

// Under the address sanitizer operands stand without guards, so that it sees the first byte outside.
inline Placement test_placement() {
#ifdef __SANITIZE_ADDRESS__
  return {1, 0};
#else
  return {};
#endif
}

// make_backend(index of the case) gives the back ends to run it on, in a std::vector of owners. The reference is
// computed once for all of them.
template <class MakeBackends>
void check_cases(CaseSet set, std::string_view operation, MakeBackends&& make_backends) {
  const std::vector<CaseShape> shapes = case_shapes(set, operation);
  CHECK(!shapes.empty());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Case subject(shapes[i]);
    const std::vector<Expected> expected = reference(subject.operation());
    for (const auto& backend : make_backends(i)) {
      Outcome outcome;
      const Status status = run(subject, *backend, test_placement(), outcome);
      CHECK_MESSAGE(status.ok(), subject.name() << ": " << status.message());
      if (!status.ok()) continue;
      const Verdict verdict = judge(subject, expected, outcome);
      CHECK_MESSAGE(verdict.ok(), subject.name() << ": " << verdict.problem);
    }
  }
}

}  // namespace servecast::kernels
