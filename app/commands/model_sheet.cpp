#include "app/commands/model_sheet.hpp"

#include <algorithm>

#include "costmodel/pipeline.hpp"
#include "sim/error.hpp"

namespace servecast {
namespace {

std::int64_t multiplied_parameters(const ModelShape& model) {
  std::int64_t sum = model.vocab * model.hidden;
  for (const Layer& layer : model.layers) {
    const FeedForward& part = model.feed_forwards[layer.feed_forward];
    sum += attention_matrices(model, model.attentions[layer.attention]) + dense_matrices(model, part);
    if (part.experts) sum += router_matrix(model, part) + part.experts->per_token * expert_matrices(model, part);
  }
  return sum;
}

// The fewest devices, in powers of two, on which the model fits; 0 when a host does not hold it.
std::int64_t fewest_devices(const ModelShape& model, const DeviceSheet& device, const SheetChoice& choice) {
  for (std::int64_t ranks = 1; ranks <= device.link.devices_per_host; ranks *= 2) {
    try {
      static_cast<void>(plan_memory(shard(model, ranks), choice.dtypes, choice.budget));
      return ranks;
    } catch (const InputError&) {
      continue;  // too small, or a dimension does not divide
    }
  }
  return 0;
}

Parallelism parallelism_of(const SheetChoice& choice) { return {Sharding{choice.ranks}, choice.stages, {}}; }

PipelineMemory plan_or_explain(const ModelShape& model, const DeviceSheet& device, const SheetChoice& choice) {
  try {
    return plan_pipeline_memory(model, parallelism_of(choice), choice.dtypes, choice.budget);
  } catch (const InputError& error) {
    const std::int64_t ranks = fewest_devices(model, device, choice);
    if (ranks <= choice.ranks) throw;
    throw InputError({}, error.what(), "it fits with --tp " + std::to_string(ranks));
  }
}

double flops_per_byte(PipelineModel& pipeline, const StepShape& shape) {
  Work sum;
  for (std::size_t stage = 0; stage < pipeline.stages(); ++stage) {
    for (const Operator& op : pipeline.stage(stage).work().operators(shape)) sum += op.total();
  }
  return sum.flops / sum.memory_bytes();
}

StepRow step_row(PipelineModel& pipeline, const StepShape& shape, std::int64_t tokens) {
  StepRow row;
  double slowest_s = 0, compute_s = 0, memory_s = 0;
  const auto passes = [&](Duration duration) {
    row.step_s += seconds(duration);
    slowest_s = std::max(slowest_s, seconds(duration));
  };
  for (std::size_t stage = 0; stage < pipeline.stages(); ++stage) {
    if (stage > 0) passes(pipeline.handoff_time(stage - 1, shape));
    passes(pipeline.stage_cost(stage, shape).device);
    const RooflineBound bound = pipeline.stage(stage).bound(shape);
    row.bound_s += bound.seconds();
    compute_s += bound.compute_s;
    memory_s += bound.memory_s;
  }
  row.compute_bound = compute_s > memory_s;
  row.intensity = flops_per_byte(pipeline, shape);
  row.tokens_per_s = static_cast<double>(tokens) / slowest_s;
  return row;
}

StepRow decode_row(PipelineModel& pipeline, const ModelSheet& sheet, std::int64_t batch, std::int64_t context) {
  StepShape shape;
  shape.decode_sequences = shape.sampled_rows = batch;
  shape.decode_context = Tokens{batch * context};
  const Tokens window = sheet.model.window().value_or(Tokens{context});
  shape.decode_window_context = std::min(Tokens{context}, window) * batch;
  StepRow row = step_row(pipeline, shape, batch);
  row.batch = batch;
  row.context = context;
  row.fits = batch <= sheet.memory->paged_sequences_at(Tokens{context});
  return row;
}

StepRow prefill_row(PipelineModel& pipeline, const ModelSheet& sheet, std::int64_t prompt) {
  const PrefillChunk chunk{Tokens{prompt}, Tokens{0}};
  StepShape shape;
  shape.prefills = {&chunk, 1};
  shape.sampled_rows = 1;
  StepRow row = step_row(pipeline, shape, prompt);
  row.context = prompt;
  row.fits = sheet.memory->paged_sequences_at(Tokens{prompt}) > 0;
  return row;
}

void add_fits(const SheetChoice& choice, ModelSheet& sheet) {
  for (const std::int64_t context : choice.contexts) {
    sheet.fits.push_back({context, sheet.kv_bytes_per_token * static_cast<double>(context),
                          sheet.memory->sequences_at(Tokens{context}),
                          sheet.memory->paged_sequences_at(Tokens{context})});
  }
}

}  // namespace

ModelSheet make_sheet(const ModelShape& model, const std::optional<DeviceSheet>& device, const SheetChoice& choice) {
  ModelSheet sheet;
  sheet.model = model;
  sheet.parameters = count_parameters(model);
  sheet.multiplied = multiplied_parameters(model);
  sheet.dtypes = choice.dtypes;
  sheet.ranks = choice.ranks;
  sheet.stages = choice.stages;
  const ModelShape part = shard(model, choice.ranks);
  sheet.kv_bytes_per_token =
      static_cast<double>(kv_bits_per_token(part, choice.dtypes.kv)) / 8 * static_cast<double>(choice.ranks);
  if (!device) return sheet;
  SheetChoice on_device = choice;
  on_device.budget.capacity = device->memory_reported.value_or(device->memory);
  sheet.device = device;
  PipelineModel pipeline(model, *device, choice.dtypes, parallelism_of(choice));
  const PipelineMemory memory = plan_or_explain(model, *device, on_device);
  sheet.memory = memory.stages[memory.fullest];
  sheet.fullest = memory.fullest;
  add_fits(choice, sheet);
  for (const std::int64_t batch : choice.batches) {
    sheet.decodes.push_back(decode_row(pipeline, sheet, batch, choice.contexts.front()));
  }
  for (const std::int64_t prompt : choice.contexts) sheet.prefills.push_back(prefill_row(pipeline, sheet, prompt));
  return sheet;
}

}  // namespace servecast
