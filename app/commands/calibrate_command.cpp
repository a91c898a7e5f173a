#include <CLI/CLI.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <ostream>

#include "app/commands/commands.hpp"
#include "app/commands/program.hpp"
#include "app/results/file_writer.hpp"
#include "app/results/text_table.hpp"
#include "app/run/data_files.hpp"
#include "calibrate/distserve.hpp"
#include "costmodel/model_config.hpp"
#include "costmodel/profile/json_fields.hpp"

namespace servecast {
namespace {

struct ImportOptions {
  std::string file;
  std::string model;
  std::string engine;
  std::string device = DistserveChoice{}.device;
  std::int64_t tensor_parallel = 1;
  std::string out;
};

// Under its final name only when it is whole.
void write_whole(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::path part = path;
  part += ".part";
  write_file(part, text);
  std::filesystem::rename(part, path);
}

std::string typed(const Console& console) {
  std::string line = "servecast";
  for (const std::string& argument : console.arguments) line.append(" ").append(argument);
  return line;
}

// A few steps, so that a wrong file is seen at once.
std::string steps_text(const Profile& profile) {
  const auto model = make_profile_model(profile, {}, {});
  TextTable table;
  table.column("step", TextTable::Align::kLeft);
  table.column("takes");
  const auto add = [&](const std::string& what, const StepShape& shape) {
    table.row({what, human_seconds(seconds(model->cost(shape).device))});
  };
  for (const std::int64_t tokens : {128, 512, 2048}) {
    const PrefillChunk chunk{Tokens{tokens}, Tokens{0}};
    StepShape shape;
    shape.prefills = {&chunk, 1};
    add(fmt::format("prefill of {} tokens", tokens), shape);
  }
  for (const std::int64_t sequences : {1, 32, 128}) {
    StepShape shape;
    shape.decode_sequences = sequences;
    shape.decode_context = Tokens{512} * sequences;
    add(fmt::format("decode of {} x 512 tokens of context", sequences), shape);
  }
  return table.text();
}

int import_steps(const ImportOptions& options, const Console& console) {
  const std::filesystem::path model_file = find_data(DataKind::kModel, options.model, "--model");
  const ModelShape model = load_model(model_file.string());
  DistserveChoice choice;
  choice.model = model.name;
  choice.tensor_parallel = options.tensor_parallel;
  choice.engine = options.engine == "vllm" ? DistserveEngine::kVllm : DistserveEngine::kDistserve;
  choice.device = find_data(DataKind::kDevice, options.device, "--device").stem().string();
  choice.longest_prompt = model.max_positions;
  choice.made_by = typed(console);
  const Profile profile = import_distserve(read_json_file(options.file), options.file, choice);
  write_whole(options.out, profile_json(profile));
  console.out << steps_text(profile) << "\nprofile: " << options.out << "\n";
  return kDone;
}

}  // namespace

void add_calibrate_command(CLI::App& program, const Console& console, Action& chosen) {
  CLI::App* calibrate = program.add_subcommand("calibrate", "Profiles: what a device really does");
  calibrate->require_subcommand(1);
  CLI::App* import = calibrate->add_subcommand("import", "Make a profile of a table that others have measured");
  import->require_subcommand(1);
  auto o = std::make_shared<ImportOptions>();
  CLI::App* distserve =
      import->add_subcommand("distserve", "Step times as DistServe's authors publish them for their simulator");
  distserve->add_option("file", o->file, "Their JSON file, e.g. profiler-a100-80g.distserve.json")->required();
  distserve->add_option("--model", o->model, "A name of servecast list models that the file has")->required();
  distserve->add_option("--tensor-parallel", o->tensor_parallel, "Tensor ranks that the file has")
      ->required()
      ->check(CLI::Range(1, 1024));
  distserve->add_option("--engine", o->engine, "Whose steps the file has; it does not say so itself")
      ->required()
      ->check(CLI::IsMember({"distserve", "vllm"}));
  distserve->add_option("--device", o->device, "The device they were measured on [a100-80g-sxm]");
  distserve->add_option("--out", o->out, "The profile")->required();
  distserve->callback([o, &console, &chosen] { chosen = [o, &console] { return import_steps(*o, console); }; });
}

}  // namespace servecast
