#include "kernels/cases/lists_parts.hpp"

namespace servecast::kernels {
namespace {

enum class Weights : std::uint8_t { kSame, kInt8, kInt4Group32, kInt4Group128, kPanels };

void set_weights(Weights weights, Gemm& op) {
  op.weight_type = op.type;
  if (weights == Weights::kInt8) op.weight_type = DType::kInt8;
  if (weights == Weights::kInt4Group32 || weights == Weights::kInt4Group128) op.weight_type = DType::kInt4;
  op.group = weights == Weights::kInt4Group32 ? 32 : 128;
  if (weights == Weights::kPanels) op.layout = WeightLayout::kPanels;
  if (op.type == DType::kFp8) {
    op.x_scale = 0.02F;
    op.weight_scale = 0.004F;
  }
}

void append_gemms(CaseSet set, std::vector<CaseShape>& list) {
  std::vector<DType> types = real_types(set);
  if (set == CaseSet::kCuda) types.push_back(DType::kFp8);
  std::vector<Weights> weights = {Weights::kSame, Weights::kInt8, Weights::kInt4Group32, Weights::kInt4Group128};
  if (set == CaseSet::kCpu) weights.push_back(Weights::kPanels);
  const std::array<std::int32_t, 6> ms = {1, 4, 15, 17, 64, 65};
  const std::array<std::int32_t, 5> ns = {8, 40, 64, 65, 200};
  const std::array<std::int32_t, 5> ks = {16, 64, 96, 128, 640};
  const auto build = [&](Levels at) -> Built {
    Gemm op;
    op.type = at.next(types);
    const Weights chosen = at.next(weights);
    op.m = at.next(ms);
    op.n = at.next(ns);
    op.k = at.next(ks);
    if (op.type == DType::kFp8 && chosen != Weights::kSame) return {};
    set_weights(chosen, op);
    if (op.weight_type == DType::kInt4 && op.k % op.group != 0) return {};
    return Built({op, {}});
  };
  append_cover({count_of(types), count_of(weights), count_of(ms), count_of(ns), count_of(ks)}, build, list);
}

void append_grouped(CaseSet set, std::vector<CaseShape>& list) {
  const auto types = real_types(set);
  const std::array<std::int32_t, 4> groups = {1, 4, 8, 60};
  const std::array<std::int32_t, 4> rows = {1, 17, 64, 130};
  const std::array<bool, 2> gathers = {false, true};
  const std::array<std::int32_t, 3> ns = {16, 72, 130};
  const std::array<std::int32_t, 3> ks = {32, 72, 128};
  const auto build = [&](Levels at) -> Built {
    GroupedGemm op;
    op.type = at.next(types);
    op.groups = at.next(groups);
    op.rows = at.next(rows);
    op.gathers = at.next(gathers);
    op.n = at.next(ns);
    op.k = at.next(ks);
    op.x_rows = op.gathers ? op.rows / 2 + 1 : op.rows;
    return Built({op, {}});
  };
  append_cover({count_of(types), count_of(groups), count_of(rows), 2, count_of(ns), count_of(ks)}, build, list);
}

}  // namespace

void append_gemm_shapes(CaseSet set, std::vector<CaseShape>& list) {
  append_gemms(set, list);
  append_grouped(set, list);
}

}  // namespace servecast::kernels
