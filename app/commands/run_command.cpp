#include <CLI/CLI.hpp>
#include <chrono>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "app/commands/commands.hpp"
#include "app/commands/program.hpp"
#include "app/commands/run_report.hpp"
#include "app/results/file_writer.hpp"
#include "app/results/point_files.hpp"
#include "app/results/results_folder.hpp"
#include "app/results/study_files.hpp"
#include "app/run/sweep.hpp"
#include "sim/error.hpp"

namespace servecast {
namespace {

struct RunOptions {
  std::string experiment;
  std::vector<std::string> overrides;
  std::string out;
  int threads = 0;
  bool require_slo = false;
  bool json = false;
  bool quiet = false;
  bool no_files = false;
};

// Throws InputError where --require-slo has nothing to require.
void check_slo_is_stated(const Study& study) {
  for (const GridPoint& point : study.points) {
    if (!point.experiment.summary.slo.any()) {
      throw InputError({study.file.string(), 0, "slo"}, "is missing, and --require-slo needs it");
    }
  }
}

// The first few points that do not reach the share they ask for; empty when all do.
std::string missed_slo(const std::vector<PreparedPoint>& points, const std::vector<PointResult>& results) {
  std::string missed;
  std::size_t count = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const double asked = points[i].point->experiment.summary.slo.attainment;
    if (results[i].summary.attainment >= asked) continue;
    if (++count > 3) continue;
    const std::string axes = axes_text(results[i].axes);
    missed += fmt::format("{}{}{:.1f} % of {:.1f} %", missed.empty() ? "" : "; ", axes.empty() ? "" : axes + ": ",
                          results[i].summary.attainment * 100, asked * 100);
  }
  if (count > 3) missed += fmt::format("; and {} more points", count - 3);
  return missed;
}

void print_json(std::ostream& out, const std::vector<PreparedPoint>& points, const std::vector<PointResult>& results) {
  nlohmann::ordered_json json{{"points", nlohmann::ordered_json::array()}};
  for (std::size_t i = 0; i < results.size(); ++i) {
    json["points"].push_back(nlohmann::ordered_json::parse(summary_json(points[i], results[i])));
  }
  out << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
}

std::vector<PointResult> simulate_all(const RunOptions& options, const std::vector<PreparedPoint>& points,
                                      const std::optional<ResultsFolder>& folder, std::ostream& err) {
  std::uint64_t requests = 0;
  for (const PreparedPoint& point : points) requests += requests_asked(point);
  ProgressBoard board(progress_style(options.quiet), err, points.size(), requests);
  PointSink sink;
  if (folder) {
    sink = [&](std::size_t index, const PointResult& result, const RequestTable& table) {
      write_point_files(folder->point(index, points.size()), points[index], result, table);
    };
  }
  return run_sweep(points, options.threads, board, sink);
}

void report(const RunOptions& options, const Console& console, const Study& study,
            const std::vector<PreparedPoint>& points, const std::vector<PointResult>& results) {
  if (options.json) return print_json(console.out, points, results);
  console.out << "\n" << result_table(study, points, results) << "\n";
  if (results.size() == 1 && results[0].run.replicas.size() > 1) console.out << replica_table(results[0]) << "\n";
  console.out << result_notes(points, results);
}

int run(const RunOptions& options, const Console& console) {
  const auto started = std::chrono::steady_clock::now();
  const Study study = load_study(options.experiment, options.overrides);
  if (options.require_slo) check_slo_is_stated(study);
  TraceCache traces;
  const std::vector<PreparedPoint> points = prepare_sweep(study, traces);
  std::optional<ResultsFolder> folder;
  if (!options.no_files) {
    const std::filesystem::path usual = std::filesystem::path("results") / study.points.front().experiment.name;
    folder.emplace(options.out.empty() ? usual : std::filesystem::path(options.out));
  }
  if (!options.json) console.out << memory_lines(points) << std::flush;
  const std::vector<PointResult> results = simulate_all(options, points, folder, console.err);
  if (folder) {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - started;
    const RunFacts facts{console.arguments, options.overrides, inputs_of(study, points, traces), wall.count()};
    write_file(folder->partial() / "table.csv", table_csv(study, points, results));
    write_file(folder->partial() / "manifest.json", manifest_json(study, points, facts));
    folder->commit();
  }
  report(options, console, study, points, results);
  if (folder && !options.json) console.out << "- results: " << folder->name().string() << "\n";
  const std::string missed = options.require_slo ? missed_slo(points, results) : std::string{};
  if (missed.empty()) return kDone;
  console.err << "servecast: the SLO is not met: " << missed << std::endl;
  return kNotMet;
}

}  // namespace

void add_run_command(CLI::App& program, const Console& console, Action& chosen) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* run_app = program.add_subcommand("run", "Run an experiment, or the grid that it sweeps");
  run_app->add_option("experiment", options->experiment, "The experiment's YAML file")->required();
  run_app->add_option("--set", options->overrides, "path=value: changes the experiment, e.g. workload.requests=100")
      ->allow_extra_args(false);
  run_app->add_option("--out", options->out,
                      "Folder of the results [results/NAME]; one that holds results is replaced");
  run_app->add_option("--threads", options->threads, "Points that run at once [one a core]")
      ->check(CLI::Range(1, 1024));
  run_app->add_flag("--require-slo", options->require_slo, "Exit with 1 unless every point meets its SLO");
  run_app->add_flag("--json", options->json, "Print the summaries as JSON instead of a table");
  run_app->add_flag("--quiet", options->quiet, "No progress");
  run_app->add_flag("--no-files", options->no_files, "Write no results folder")->excludes("--out");
  run_app->callback([options, &console, &chosen] { chosen = [options, &console] { return run(*options, console); }; });
}

}  // namespace servecast
