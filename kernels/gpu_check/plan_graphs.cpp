#include "kernels/gpu_check/plan_parts.hpp"

namespace servecast::kernels::gpu_check {
namespace {

// A step of `sequences`, each of which adds its query's tokens; one prompt in chunks, or sequences that decode.
struct StepOf {
  std::vector<SequenceSpan> sequences;
  bool decodes = true;

  [[nodiscard]] std::int32_t tokens() const {
    std::int32_t sum = 0;
    for (const SequenceSpan& span : sequences) sum += span.query;
    return sum;
  }
};

std::vector<Operation> layer(PlanBuilder& plan, const ModelShape& model, const StepOf& step) {
  const std::int32_t rows = step.tokens();
  const std::int32_t attention = model.heads * model.head_dim;
  std::vector<Operation> operations{plan.norm(model, rows),
                                    plan.gemm(rows, attention + 2 * model.kv_heads * model.head_dim, model.hidden),
                                    plan.append(model, rows)};
  if (step.decodes) {
    operations.emplace_back(plan.decode(model, step.sequences));
  } else {
    operations.emplace_back(plan.prefill(model, step.sequences));
  }
  operations.emplace_back(plan.gemm(rows, model.hidden, attention));
  operations.emplace_back(plan.norm(model, rows));
  operations.emplace_back(plan.gemm(rows, 2 * model.intermediate, model.hidden));
  operations.emplace_back(plan.activation(model, rows));
  operations.emplace_back(plan.gemm(rows, model.hidden, model.intermediate));
  return operations;
}

// What a step has once: the embedding, and from the last norm to the tokens, for one row a sequence.
std::vector<Operation> ends(PlanBuilder& plan, const ModelShape& model, const StepOf& step) {
  const auto sampled = static_cast<std::int32_t>(step.sequences.size());
  return {plan.embedding(model, step.tokens()), plan.norm(model, step.tokens()),
          plan.gemm(sampled, model.vocabulary, model.hidden), plan.sample(model, sampled)};
}

void add_layer(PlanBuilder& plan, const ModelShape& model, const StepOf& step) {
  plan.add_graph("layer", layer(plan, model, step), {}, 1);
}

void add_step(PlanBuilder& plan, const ModelShape& model, const StepOf& step) {
  std::vector<Operation> body = layer(plan, model, step);
  plan.add_graph("step", std::move(body), ends(plan, model, step), model.layers);
}

}  // namespace

std::vector<Point> graph_plan(const PlanTarget& target) {
  std::vector<Point> points;
  PlanBuilder plan(target, points);
  if (target.smoke) {
    add_layer(plan, kTiny, {even(2, 1, 20), true});
    add_step(plan, kTiny, {even(2, 1, 20), true});
    return points;
  }
  for (const std::int32_t count : {1, 16, 64}) {
    add_layer(plan, kTarget, {even(count, 1, 2048), true});
    add_step(plan, kTarget, {even(count, 1, 2048), true});
    add_step(plan, kDraft, {even(count, 1, 2048), true});
  }
  for (const std::int32_t chunk : {512, 2048}) {
    add_layer(plan, kTarget, {even(1, chunk, 2048), false});
    add_step(plan, kTarget, {even(1, chunk, 2048), false});
  }
  return points;
}

}  // namespace servecast::kernels::gpu_check
