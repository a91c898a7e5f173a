#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/commands/model_sheet.hpp"
#include "app/results/text_table.hpp"

namespace servecast {
namespace {

using Json = nlohmann::ordered_json;

double number(Bytes bytes) { return static_cast<double>(bytes.count()); }
std::string text(DType type) { return std::string(dtype_name(type)); }

std::string parameters_text(const ModelSheet& s) {
  TextTable table;
  table.column(s.model.name, TextTable::Align::kLeft);
  table.column("");
  const auto row = [&](const char* what, std::int64_t count) { table.row({what, human_count(count)}); };
  row("parameters", s.parameters.total);
  row("without embeddings and head", s.parameters.non_embedding);
  row("active for one token", s.parameters.active);
  row("that multiply one token", s.multiplied);
  if (s.parameters.mtp > 0) row("in draft modules, not counted", s.parameters.mtp);
  row("layers", s.model.layer_count());
  if (s.model.max_positions > Tokens{0}) row("context, tokens", s.model.max_positions.count());
  table.row({"KV cache of one token, bytes", human_number(s.kv_bytes_per_token)});
  std::string out = table.text();
  out += fmt::format("\nformats: weights {}, experts {}, KV {}, activations {}\n", text(s.dtypes.weights),
                     text(s.dtypes.experts), text(s.dtypes.kv), text(s.dtypes.activations));
  for (const std::string& caveat : s.model.caveats) out += "note: " + caveat + "\n";
  return out;
}

std::string memory_text(const ModelSheet& s) {
  const MemoryPlan& plan = *s.memory;
  TextTable table;
  std::string whose =
      s.ranks == 1 ? "memory of " + s.device->name : fmt::format("memory of each of {} x {}", s.ranks, s.device->name);
  if (s.stages > 1) whose += fmt::format(", stage {} of {}, the fullest", s.fullest + 1, s.stages);
  table.column(whose, TextTable::Align::kLeft);
  table.column("");
  const auto row = [&](const char* what, Bytes bytes) { table.row({what, human_bytes(number(bytes))}); };
  row("capacity", plan.capacity);
  row("usable by the engine", plan.usable);
  row("- weights", plan.weights);
  row("- activations of the largest step", plan.activations);
  row("- reserve", plan.reserve);
  row("= KV cache", plan.kv);
  return table.text() + fmt::format("KV cache: {} blocks of {} tokens = {} tokens\n", human_count(plan.blocks.count()),
                                    plan.block_size.count(),
                                    human_count(plan.blocks.count() * plan.block_size.count()));
}

std::string fits_text(const ModelSheet& s) {
  TextTable table;
  for (const char* title : {"context", "KV of one sequence", "sequences that fit", "in whole blocks"}) {
    table.column(title);
  }
  for (const FitRow& row : s.fits) {
    table.row({human_count(row.context), human_bytes(row.kv_bytes), fmt::format("{:.2f}", row.closed_form),
               human_count(row.engine)});
  }
  return table.text();
}

std::string steps_text(const std::vector<StepRow>& rows, bool decode) {
  TextTable table;
  if (decode) table.column("batch");
  for (const char* title : {decode ? "context" : "prompt", "step", "at the peaks", "bound by", "FLOP/byte", "tok/s"}) {
    table.column(title);
  }
  table.column("", TextTable::Align::kLeft);
  for (const StepRow& row : rows) {
    std::vector<std::string> cells;
    if (decode) cells.push_back(human_count(row.batch));
    cells.insert(cells.end(), {human_count(row.context), human_seconds(row.step_s), human_seconds(row.bound_s),
                               row.compute_bound ? "compute" : "memory", human_number(row.intensity),
                               human_number(row.tokens_per_s), row.fits ? "" : "does not fit the KV cache"});
    table.row(std::move(cells));
  }
  return table.text();
}

Json json_of(const StepRow& row) {
  Json json;
  if (row.batch > 0) json["batch_sequences"] = row.batch;
  json["context_tokens"] = row.context;
  json["step_s"] = row.step_s;
  json["bound_s"] = row.bound_s;
  json["bound_by"] = row.compute_bound ? "compute" : "memory";
  json["intensity_flop_per_byte"] = row.intensity;
  json["tokens_per_s"] = row.tokens_per_s;
  json["fits"] = row.fits;
  return json;
}

Json parameters_json(const ModelSheet& s) {
  return {{"model", s.model.name},
          {"architecture", s.model.architecture},
          {"parameters", s.parameters.total},
          {"parameters_without_embeddings", s.parameters.non_embedding},
          {"parameters_active", s.parameters.active},
          {"parameters_multiplied", s.multiplied},
          {"parameters_draft_modules", s.parameters.mtp},
          {"layers", s.model.layer_count()},
          {"context_tokens", s.model.max_positions.count()},
          {"kv_per_token_bytes", s.kv_bytes_per_token},
          {"dtypes",
           {{"weights", text(s.dtypes.weights)},
            {"experts", text(s.dtypes.experts)},
            {"kv", text(s.dtypes.kv)},
            {"activations", text(s.dtypes.activations)}}},
          {"tensor_parallel", s.ranks},
          {"pipeline_parallel", s.stages},
          {"notes", s.model.caveats}};
}

Json memory_json(const MemoryPlan& plan) {
  return {{"capacity_bytes", plan.capacity.count()}, {"usable_bytes", plan.usable.count()},
          {"weights_bytes", plan.weights.count()},   {"activations_bytes", plan.activations.count()},
          {"reserve_bytes", plan.reserve.count()},   {"kv_bytes", plan.kv.count()},
          {"block_tokens", plan.block_size.count()}, {"kv_blocks", plan.blocks.count()}};
}

}  // namespace

std::string sheet_text(const ModelSheet& s) {
  std::string out = parameters_text(s);
  if (!s.device) return out;
  out += "\n" + memory_text(s) + "\n" + fits_text(s);
  const char* rate = s.stages > 1 ? "; through all stages, and tok/s with such a batch in each" : "";
  out += fmt::format("\ndecode: one step of a batch, one token a sequence{}\n", rate) + steps_text(s.decodes, true);
  out += fmt::format("\nprefill: one prompt in one step{}\n", rate) + steps_text(s.prefills, false);
  return out;
}

std::string sheet_json(const ModelSheet& s) {
  Json json = parameters_json(s);
  if (s.device) {
    json["device"] = s.device->name;
    json["memory_per_device"] = memory_json(*s.memory);
    json["fits"] = Json::array();
    for (const FitRow& row : s.fits) {
      json["fits"].push_back({{"context_tokens", row.context},
                              {"kv_per_sequence_bytes", row.kv_bytes},
                              {"sequences", row.closed_form},
                              {"sequences_in_blocks", row.engine}});
    }
    json["decode"] = Json::array();
    for (const StepRow& row : s.decodes) json["decode"].push_back(json_of(row));
    json["prefill"] = Json::array();
    for (const StepRow& row : s.prefills) json["prefill"].push_back(json_of(row));
  }
  return json.dump(2) + "\n";
}

}  // namespace servecast
