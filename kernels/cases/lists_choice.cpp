#include "kernels/cases/lists_parts.hpp"

namespace servecast::kernels {
namespace {

void append_routes(std::vector<CaseShape>& list) {
  const std::array<std::int32_t, 4> tokens = {1, 5, 33, 100};
  const std::array<std::int32_t, 5> experts = {1, 8, 60, 256, 512};
  const std::array<std::int32_t, 4> chosen = {1, 2, 8, 16};
  const std::array<bool, 2> renormalise = {false, true};
  const auto build = [&](Levels at) -> Built {
    RouteExperts op;
    op.tokens = at.next(tokens);
    op.experts = at.next(experts);
    op.chosen = at.next(chosen);
    op.renormalise = at.next(renormalise);
    if (op.chosen > op.experts) return {};
    return Built({op, {}});
  };
  append_cover({count_of(tokens), count_of(experts), count_of(chosen), 2}, build, list);
}

void append_combines(CaseSet set, std::vector<CaseShape>& list) {
  const auto types = real_types(set);
  const std::array<std::int32_t, 3> tokens = {1, 9, 33};
  const std::array<std::int32_t, 3> chosen = {1, 2, 8};
  const std::array<std::int32_t, 4> widths = {8, 77, 100, 1024};
  const auto build = [&](Levels at) -> Built {
    CombineExperts op;
    op.type = at.next(types);
    op.tokens = at.next(tokens);
    op.chosen = at.next(chosen);
    op.width = at.next(widths);
    return Built({op, {}});
  };
  append_cover({count_of(types), count_of(tokens), count_of(chosen), count_of(widths)}, build, list);
}

struct Cut {
  std::int32_t top_k;
  float top_p;
};

void append_samples(CaseSet set, std::vector<CaseShape>& list) {
  std::vector<DType> types = real_types(set);
  if (set != CaseSet::kCpu) types.push_back(DType::kF32);
  const std::array<std::int32_t, 3> rows = {1, 4, 9};
  const std::array<std::int32_t, 5> vocabularies = {1, 31, 257, 1000, 5003};
  const std::array<float, 4> temperatures = {0, 0.6F, 1, 1.5F};
  const std::vector<Cut> cuts = {{0, 1}, {1, 1}, {20, 1}, {0, 0.9F}, {50, 0.8F}, {0, 0.1F}};
  const auto build = [&](Levels at) -> Built {
    Sample op;
    op.type = at.next(types);
    op.rows = at.next(rows);
    op.vocabulary = at.next(vocabularies);
    op.temperature = at.next(temperatures);
    const Cut cut = at.next(cuts);
    op.top_k = cut.top_k;
    op.top_p = cut.top_p;
    if (op.top_k > op.vocabulary) return {};
    return Built({op, {}});
  };
  append_cover({count_of(types), count_of(rows), count_of(vocabularies), count_of(temperatures), count_of(cuts)}, build,
               list);
}

void append_verifications(std::vector<CaseShape>& list) {
  const std::array<std::int32_t, 3> sequences = {1, 5, 12};
  const std::array<std::int32_t, 4> drafted = {1, 3, 7, 63};
  const std::array<std::int32_t, 4> vocabularies = {2, 17, 1000, 4099};
  const auto build = [&](Levels at) -> Built {
    VerifyDraft op;
    op.sequences = at.next(sequences);
    op.drafted = at.next(drafted);
    op.vocabulary = at.next(vocabularies);
    if (std::int64_t{1} * op.sequences * op.drafted * op.vocabulary > 500'000) return {};
    return Built({op, {}});
  };
  append_cover({count_of(sequences), count_of(drafted), count_of(vocabularies)}, build, list);
}

}  // namespace

void append_choice_shapes(CaseSet set, std::vector<CaseShape>& list) {
  append_routes(list);
  append_combines(set, list);
  append_samples(set, list);
  append_verifications(list);
}

}  // namespace servecast::kernels
