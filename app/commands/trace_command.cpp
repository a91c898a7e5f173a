#include <CLI/CLI.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <system_error>

#include "app/commands/commands.hpp"
#include "app/commands/program.hpp"
#include "app/experiment/experiment.hpp"
#include "app/results/text_table.hpp"
#include "app/run/inputs.hpp"
#include "sim/error.hpp"
#include "traces/stats.hpp"
#include "traces/write.hpp"

namespace servecast {
namespace {

using Json = nlohmann::ordered_json;

struct TraceOptions {
  std::string in, out;
  std::string format, tokenizer;
  double characters = 0;
  bool sort = false;
  bool json = false;
  std::vector<std::string> overrides;
};

TraceChoice choice_of(const TraceOptions& options) {
  TraceChoice choice;
  choice.path = options.in;
  if (!options.format.empty()) choice.format = options.format;
  choice.sort = options.sort;
  if (!options.tokenizer.empty()) choice.tokenizer = options.tokenizer;
  if (options.characters > 0) choice.characters_per_token = options.characters;
  return choice;
}

Json json_of(const LengthStats& s) {
  return {{"total", s.total}, {"mean", s.mean}, {"p50", s.p50}, {"p90", s.p90}, {"p99", s.p99}, {"max", s.max}};
}

Json json_of(const TraceReport& report, const TraceStats& stats) {
  Json dropped = Json::object();
  for (const TraceReport::Drop& drop : report.dropped) dropped[drop.reason] = drop.rows;
  Json json{{"file", report.file},           {"format", report.format},   {"rows_read", report.rows_read},
            {"rows_kept", report.rows_kept}, {"dropped", dropped},        {"tokens", report.tokens},
            {"notes", report.notes},         {"requests", stats.requests}};
  json["prompt_tokens"] = json_of(stats.prompt);
  json["output_tokens"] = json_of(stats.output);
  if (stats.arrivals) {
    json["first_arrival_s"] = seconds(stats.arrivals->first);
    json["span_s"] = seconds(stats.arrivals->span);
    json["requests_per_s"] = stats.arrivals->rate_per_s;
    json["gap_cv"] = stats.arrivals->gap_cv;
  }
  if (stats.sessions > 0) json["sessions"] = stats.sessions;
  if (stats.prefix) {
    json["prefix"] = {{"block_tokens", stats.prefix->block_size.count()},
                      {"blocks", stats.prefix->blocks},
                      {"blocks_seen_before", stats.prefix->blocks_seen_before},
                      {"share", stats.prefix->share()}};
  }
  return json;
}

std::string lengths_table(const TraceStats& stats) {
  TextTable table;
  table.column("tokens", TextTable::Align::kLeft);
  for (const char* title : {"mean", "p50", "p90", "p99", "max", "total"}) table.column(title);
  const auto row = [&](const char* name, const LengthStats& s) {
    table.row({name, human_number(s.mean), human_number(s.p50), human_number(s.p90), human_number(s.p99),
               human_count(s.max), human_count(s.total)});
  };
  row("prompt", stats.prompt);
  row("output", stats.output);
  return table.text();
}

std::string text_of(const TraceReport& report, const TraceStats& stats) {
  std::string text = describe(report);
  if (!text.empty() && text.back() != '\n') text += '\n';
  text += fmt::format("requests: {}\n", human_count(stats.requests));
  if (stats.arrivals) {
    text += fmt::format("arrivals: over {}, {} requests/s, gaps with a coefficient of variation of {}\n",
                        human_seconds(seconds(stats.arrivals->span)), human_number(stats.arrivals->rate_per_s),
                        human_number(stats.arrivals->gap_cv));
  } else {
    text += "arrivals: none recorded\n";
  }
  if (stats.sessions > 0) text += fmt::format("sessions: {}\n", human_count(stats.sessions));
  if (stats.prefix) {
    text += fmt::format("prefixes: {:.1f} % of the blocks of {} tokens were in a prompt before\n",
                        stats.prefix->share() * 100, stats.prefix->block_size.count());
  }
  return text + "\n" + lengths_table(stats);
}

int print_stats(const TraceOptions& options, const Console& console) {
  const ReadResult read = read_trace(options.in, read_options(choice_of(options)));
  const TraceStats stats = stats_of(read.trace);
  if (options.json) {
    console.out << json_of(read.report, stats).dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  } else {
    console.out << text_of(read.report, stats);
  }
  return kDone;
}

TraceFormat format_for(const std::string& path) {
  if (path.ends_with(".csv")) return TraceFormat::kCsv;
  if (path.ends_with(".jsonl")) return TraceFormat::kJsonl;
  throw InputError({path, 0, {}}, "the name says no format", "end it in .csv or .jsonl");
}

// Writes beside the final name and renames, so that a failure leaves nothing under it.
void write_whole(const std::string& path, const std::function<void(std::ostream&)>& write) {
  const std::string partial = path + ".partial";
  const auto refuse = [&] {
    throw InputError({path, 0, {}}, "cannot be written: " + std::generic_category().message(errno));
  };
  std::ofstream file(partial, std::ios::binary);
  if (!file) refuse();
  try {
    write(file);
    file.close();
    if (!file) refuse();
    std::filesystem::rename(partial, path);
  } catch (const std::filesystem::filesystem_error& error) {
    std::filesystem::remove(partial);
    throw InputError({path, 0, {}}, "cannot be written: " + error.code().message());
  } catch (...) {
    std::filesystem::remove(partial);
    throw;
  }
}

int convert(const TraceOptions& options, const Console& console) {
  const TraceFormat format = format_for(options.out);
  std::error_code none;
  if (std::filesystem::equivalent(options.in, options.out, none)) {
    throw InputError({options.out, 0, {}}, "is the trace that is read", "write to another file");
  }
  const ReadResult read = read_trace(options.in, read_options(choice_of(options)));
  const std::string report = describe(read.report);
  write_whole(options.out, [&](std::ostream& out) { write_trace(out, format, read.trace, report); });
  console.out << report << (report.ends_with('\n') ? "" : "\n")
              << fmt::format("{} requests written to {}\n", human_count(static_cast<std::int64_t>(read.trace.size())),
                             options.out);
  return kDone;
}

int generate_trace(const TraceOptions& options, const Console& console) {
  const TraceFormat format = format_for(options.out);
  const Study study = load_study(options.in, options.overrides);
  if (study.points.size() > 1) {
    throw InputError({study.file.string(), 0, "sweep"}, "spans several points; a trace is generated from one",
                     "drop the sweep with --set 'sweep={}'");
  }
  const WorkloadSection& workload = study.points.front().experiment.workload;
  TraceCache traces;
  std::shared_ptr<const Trace> trace;
  if (workload.trace) trace = traces.load(*workload.trace).trace;
  Realised realised;
  write_whole(options.out, [&](std::ostream& out) {
    TraceWriter writer(out, format, {}, describe(workload.spec));
    realised = generate(workload.spec, trace, [&](const TraceRow& row) { writer.add(row); });
  });
  console.out << fmt::format("{} requests at {}/s written to {}\n", human_count(realised.requests),
                             human_number(realised.rate_per_s()), options.out);
  return kDone;
}

void add_reading_options(CLI::App& app, TraceOptions& options) {
  app.add_option("trace", options.in, "The trace file")->required();
  app.add_option("--format", options.format, "Its format [found from the content; see servecast list formats]");
  app.add_flag("--sort", options.sort, "Sort rows that are out of order");
  auto* tokenizer = app.add_option("--tokenizer", options.tokenizer, "tokenizer.json or tokenizer.model, for text");
  app.add_option("--characters-per-token", options.characters, "The estimate where there is no tokenizer [4]")
      ->check(CLI::PositiveNumber)
      ->excludes(tokenizer);
}

}  // namespace

void add_trace_command(CLI::App& program, const Console& console, Action& chosen) {
  CLI::App* trace = program.add_subcommand("trace", "Look at traces, convert and generate them");
  trace->require_subcommand(1);
  auto options = std::make_shared<TraceOptions>();
  const auto act = [&](CLI::App* app, int (*command)(const TraceOptions&, const Console&)) {
    app->callback([options, command, &console, &chosen] {
      chosen = [options, command, &console] { return command(*options, console); };
    });
  };
  CLI::App* stats = trace->add_subcommand("stats", "Lengths, rate and burstiness of a trace");
  add_reading_options(*stats, *options);
  stats->add_flag("--json", options->json, "Print JSON");
  act(stats, print_stats);

  CLI::App* converting = trace->add_subcommand("convert", "Write a trace in our own CSV or JSON lines");
  add_reading_options(*converting, *options);
  converting->add_option("out", options->out, "The file to write: .csv or .jsonl")->required();
  act(converting, convert);

  CLI::App* generating = trace->add_subcommand("generate", "Write the requests that an experiment's workload sends");
  generating->add_option("experiment", options->in, "The experiment's YAML file")->required();
  generating->add_option("out", options->out, "The file to write: .csv or .jsonl")->required();
  generating->add_option("--set", options->overrides, "path=value: changes the experiment")->allow_extra_args(false);
  act(generating, generate_trace);
}

}  // namespace servecast
