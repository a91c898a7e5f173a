#include <array>

#include "kernels/gpu_check/plan_parts.hpp"

namespace servecast::kernels::gpu_check {
namespace {

struct Mixture {
  std::int32_t hidden = 0;
  std::int32_t intermediate = 0;
  std::int32_t experts = 0;
  std::int32_t chosen = 0;
};

constexpr Mixture kMixtral{4096, 14336, 8, 2};  // models/mixtral-8x7b.json
constexpr Mixture kTinyMixture{64, 128, 4, 2};

void add_tokens(PlanBuilder& plan, const Mixture& mixture, std::int32_t tokens) {
  RouteExperts route;
  route.tokens = tokens;
  route.experts = mixture.experts;
  route.chosen = mixture.chosen;
  plan.add("experts", route);
  GroupedGemm product;
  product.type = plan.target().type;
  product.groups = mixture.experts;
  product.rows = tokens * mixture.chosen;
  product.x_rows = tokens;
  product.n = 2 * mixture.intermediate;
  product.k = mixture.hidden;
  product.gathers = true;
  plan.add("experts", product);
  product.x_rows = product.rows;
  product.n = mixture.hidden;
  product.k = mixture.intermediate;
  product.gathers = false;
  plan.add("experts", product);
  CombineExperts combine;
  combine.type = plan.target().type;
  combine.tokens = tokens;
  combine.chosen = mixture.chosen;
  combine.width = mixture.hidden;
  plan.add("experts", combine);
}

}  // namespace

void add_expert_points(PlanBuilder& plan) {
  if (plan.target().smoke) {
    add_tokens(plan, kTinyMixture, 5);
    return;
  }
  for (const std::int32_t tokens : {1, 16, 128, 1024, 4096}) add_tokens(plan, kMixtral, tokens);
}

}  // namespace servecast::kernels::gpu_check
