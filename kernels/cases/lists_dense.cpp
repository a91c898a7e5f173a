#include "kernels/cases/lists_parts.hpp"

namespace servecast::kernels {
namespace {

constexpr std::array<std::int32_t, 3> kRows = {1, 5, 17};
// Around a vector of eight, a warp, a block; odd ones too.
constexpr std::array<std::int32_t, 5> kWidths = {8, 77, 100, 1024, 2056};

void append_norms(CaseSet set, std::vector<CaseShape>& list) {
  const auto types = real_types(set);
  const std::array<bool, 2> residuals = {false, true};
  const std::array<float, 2> epsilons = {1e-5F, 0.5F};
  const auto build = [&](Levels at) -> Built {
    RmsNorm op;
    op.type = at.next(types);
    op.rows = at.next(kRows);
    op.width = at.next(kWidths);
    op.adds_residual = at.next(residuals);
    op.epsilon = at.next(epsilons);
    return Built({op, {}});
  };
  append_cover({count_of(types), count_of(kRows), count_of(kWidths), 2, 2}, build, list);
}

void append_activations(CaseSet set, std::vector<CaseShape>& list) {
  const auto types = real_types(set);
  const std::array<ActivationKind, 3> kinds = {ActivationKind::kSiluMul, ActivationKind::kGeluMul,
                                               ActivationKind::kGelu};
  const auto build = [&](Levels at) -> Built {
    Activation op;
    op.type = at.next(types);
    op.kind = at.next(kinds);
    op.rows = at.next(kRows);
    op.width = at.next(kWidths);
    return Built({op, {}});
  };
  append_cover({count_of(types), count_of(kinds), count_of(kRows), count_of(kWidths)}, build, list);
}

void append_embeddings(CaseSet set, std::vector<CaseShape>& list) {
  const auto types = real_types(set);
  const auto build = [&](Levels at) -> Built {
    Embedding op;
    op.type = at.next(types);
    op.tokens = at.next(kRows);
    op.width = at.next(kWidths);
    op.vocabulary = 50;
    return Built({op, {}});
  };
  append_cover({count_of(types), count_of(kRows), count_of(kWidths)}, build, list);
}

}  // namespace

void append_dense_shapes(CaseSet set, std::vector<CaseShape>& list) {
  append_norms(set, list);
  append_activations(set, list);
  append_embeddings(set, list);
}

}  // namespace servecast::kernels
