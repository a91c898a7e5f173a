#include "kernels/cases/lists.hpp"

#include "kernels/cases/lists_parts.hpp"

namespace servecast::kernels {
namespace {

// FNV-1a: a case's inputs follow from its name, whatever stands before it in the list.
std::uint64_t seed_of(std::string_view name) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

}  // namespace

std::vector<CaseShape> case_shapes(CaseSet set) {
  std::vector<CaseShape> list;
  append_attention_shapes(set, list);
  append_cache_shapes(set, list);
  append_dense_shapes(set, list);
  append_gemm_shapes(set, list);
  append_choice_shapes(set, list);
  for (CaseShape& shape : list) {
    shape.name = name_of(shape.operation);
    shape.name.append(" ").append(describe(shape.operation, shape.sequences));
    shape.seed = seed_of(shape.name);
  }
  return list;
}

std::vector<CaseShape> case_shapes(CaseSet set, std::string_view operation) {
  std::vector<CaseShape> list = case_shapes(set);
  std::erase_if(list, [&](const CaseShape& shape) { return name_of(shape.operation) != operation; });
  return list;
}

}  // namespace servecast::kernels
