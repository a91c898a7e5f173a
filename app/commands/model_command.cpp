#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <ostream>

#include "app/commands/commands.hpp"
#include "app/commands/model_sheet.hpp"
#include "app/commands/program.hpp"
#include "app/run/data_files.hpp"
#include "costmodel/model_config.hpp"

namespace servecast {
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 31;

struct ModelOptions {
  std::string model, device;
  std::string weights, kv, activations;
  std::int64_t ranks = 1, stages = 1;
  double utilisation = 0.9;
  double reserve_gb = 0;
  std::int64_t batched_tokens = 2048, sampled_rows = 128, block_size = 16;
  std::vector<std::int64_t> contexts, batches;
  bool json = false;
};

SheetChoice choose(const ModelOptions& options, const ModelShape& model) {
  SheetChoice choice;
  choice.ranks = options.ranks;
  choice.stages = options.stages;
  choice.dtypes = published_dtypes(model);
  if (!options.weights.empty()) {
    choice.dtypes.weights = choice.dtypes.experts = parse_dtype(options.weights, {{}, 0, "--weight-dtype"});
  }
  if (!options.activations.empty()) {
    choice.dtypes.activations = choice.dtypes.kv = parse_dtype(options.activations, {{}, 0, "--activation-dtype"});
  }
  if (!options.kv.empty()) choice.dtypes.kv = parse_dtype(options.kv, {{}, 0, "--kv-dtype"});
  choice.budget.utilisation = options.utilisation;
  choice.budget.reserve = Bytes{std::llround(options.reserve_gb * 1e9)};
  choice.budget.batched_tokens = Tokens{options.batched_tokens};
  choice.budget.sampled_rows = options.sampled_rows;
  choice.budget.block_size = Tokens{options.block_size};
  choice.contexts = options.contexts;
  for (const std::int64_t usual : {1024, 2048, 4096, 8192, 32768, 131072}) {
    const bool within = model.max_positions == Tokens{0} || Tokens{usual} <= model.max_positions;
    if (options.contexts.empty() && within) choice.contexts.push_back(usual);
  }
  if (choice.contexts.empty()) choice.contexts.push_back(model.max_positions.count());
  choice.batches =
      options.batches.empty() ? std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 64, 128, 256, 512} : options.batches;
  return choice;
}

int show_model(const ModelOptions& options, const Console& console) {
  const ModelShape model = load_model(find_data(DataKind::kModel, options.model, "model").string());
  std::optional<DeviceSheet> device;
  if (!options.device.empty()) {
    device = load_device(find_data(DataKind::kDevice, options.device, "--device").string());
  }
  const ModelSheet sheet = make_sheet(model, device, choose(options, model));
  console.out << (options.json ? sheet_json(sheet) : sheet_text(sheet));
  return kDone;
}

}  // namespace

void add_model_command(CLI::App& program, const Console& console, Action& chosen) {
  auto o = std::make_shared<ModelOptions>();
  CLI::App* model = program.add_subcommand("model", "Parameters, memory and roofline of a model on a device");
  const CLI::Range tokens(std::int64_t{1}, kMostTokens);
  model->add_option("model", o->model, "A name of servecast list models, or a config.json")->required();
  CLI::Option* device = model->add_option("--device", o->device, "A name of servecast list devices, or a sheet");
  model->add_option("--tp", o->ranks, "Devices that share the model, by tensor parallelism [1]")
      ->check(CLI::Range(1, 1024));
  model->add_option("--pp", o->stages, "Stages that its layers are split over, each on that many devices [1]")
      ->check(CLI::Range(1, 1024));
  model->add_option("--weight-dtype", o->weights, "fp32, bf16, fp16, fp8, int8, int4, mxfp4 [as published]");
  model->add_option("--kv-dtype", o->kv, "Of the KV cache; also kivi2 [as the activations]");
  model->add_option("--activation-dtype", o->activations, "fp32, bf16 or fp16 [as published]");
  model->add_option("--context", o->contexts, "Tokens; the first is that of the decode table")
      ->delimiter(',')
      ->check(tokens);
  model->add_option("--batch", o->batches, "Sequences of the decode table")
      ->delimiter(',')
      ->check(CLI::Range(1, 65536));
  const auto budget = [&](CLI::Option* option) { option->needs(device); };
  budget(model->add_option("--utilisation", o->utilisation, "Share of the memory that the engine uses [0.9]"));
  budget(model->add_option("--reserve-gb", o->reserve_gb, "GB kept for graphs and libraries [0]")
             ->check(CLI::Range(0.0, 1e4)));
  budget(model->add_option("--batched-tokens", o->batched_tokens, "Tokens of the largest step [2048]")->check(tokens));
  budget(model->add_option("--max-seqs", o->sampled_rows, "Sequences of the largest step [128]")
             ->check(CLI::Range(1, 65536)));
  budget(model->add_option("--block-size", o->block_size, "Tokens of a KV block [16]")->check(CLI::Range(1, 65536)));
  model->add_flag("--json", o->json, "Print JSON");
  model->callback([o, &console, &chosen] { chosen = [o, &console] { return show_model(*o, console); }; });
}

}  // namespace servecast
