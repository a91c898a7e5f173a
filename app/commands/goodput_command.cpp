#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>

#include "app/commands/commands.hpp"
#include "app/commands/goodput_report.hpp"
#include "app/commands/placement_report.hpp"
#include "app/commands/program.hpp"
#include "app/commands/run_report.hpp"
#include "app/results/file_writer.hpp"
#include "app/results/results_folder.hpp"
#include "app/results/study_files.hpp"
#include "app/run/sweep.hpp"

namespace servecast {
namespace {

struct GoodputOptions {
  std::string experiment;
  std::vector<std::string> overrides;
  std::string out;
  int threads = 0;
  int seeds = 3;
  double tolerance = kGoodputTolerance;
  int placement = 0;  // GPUs; 0: as the experiment places it
  bool json = false;
  bool quiet = false;
  bool no_files = false;
};

bool is_rate(const std::string& path) { return path.starts_with("workload.arrivals") && path.ends_with(".rate"); }

// The grid without an axis over the rate, which is searched: of the points that differ only in it, the first.
Study without_rate_axis(Study study) {
  std::erase_if(study.axes, is_rate);
  std::vector<GridPoint> kept;
  for (GridPoint& point : study.points) {
    std::erase_if(point.axes, [](const auto& axis) { return is_rate(axis.first); });
    const bool known = std::any_of(kept.begin(), kept.end(), [&](const GridPoint& k) { return k.axes == point.axes; });
    if (!known) kept.push_back(std::move(point));
  }
  study.points = std::move(kept);
  return study;
}

// Every point as often as there are seeds, one after the other.
std::vector<PreparedPoint> repeated(const std::vector<PreparedPoint>& points, int seeds) {
  std::vector<PreparedPoint> all;
  for (const PreparedPoint& point : points) all.insert(all.end(), static_cast<std::size_t>(seeds), point);
  return all;
}

std::vector<GoodputOfPoint> search_all(const GoodputOptions& options, const std::vector<PreparedPoint>& points,
                                       std::ostream& err) {
  const auto seeds = static_cast<std::size_t>(options.seeds);
  const std::vector<PreparedPoint> all = repeated(points, options.seeds);
  std::vector<GoodputOfPoint> found(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) found[i] = {&points[i], std::vector<GoodputFound>(seeds)};
  ProgressBoard board(progress_style(options.quiet), err, all.size(), 0);
  for_each_point(all, options.threads, [&](std::size_t index) {
    const std::uint64_t seed = all[index].point->experiment.seed + index % seeds;
    found[index / seeds].seeds[index % seeds] = find_goodput(all[index], seed, options.tolerance);
    board.point_done();
  });
  return found;
}

PlacementStudy study_of(const GoodputOptions& options) {
  PlacementStudy asked;
  if (options.placement > 0) {
    asked = study_placements(options.experiment, options.overrides, options.placement);
  } else {
    asked.study = load_study(options.experiment, options.overrides);
  }
  asked.study = without_rate_axis(std::move(asked.study));
  return asked;
}

int goodput(const GoodputOptions& options, const Console& console) {
  const auto started = std::chrono::steady_clock::now();
  const auto [study, left_out] = study_of(options);
  TraceCache traces;
  const std::vector<PreparedPoint> points = prepare_sweep(study, traces);
  for (const PreparedPoint& point : points) check_goodput_is_defined(point);
  std::optional<ResultsFolder> folder;
  if (!options.no_files) {
    const std::filesystem::path usual =
        std::filesystem::path("results") / (study.points.front().experiment.name + "-goodput");
    folder.emplace(options.out.empty() ? usual : std::filesystem::path(options.out));
  }
  const bool placing = options.placement > 0;
  if (!options.json && !placing) console.out << memory_lines(points) << std::flush;
  std::vector<GoodputOfPoint> found = search_all(options, points, console.err);
  if (placing) rank(found);
  const std::string json = goodput_json(found, options.tolerance);
  if (folder) {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - started;
    const RunFacts facts{console.arguments, options.overrides, inputs_of(study, points, traces), wall.count()};
    write_file(folder->partial() / "goodput.json", json);
    if (placing) write_file(folder->partial() / "placements.csv", placements_csv(study, found));
    write_file(folder->partial() / "manifest.json", manifest_json(study, points, facts));
    folder->commit();
  }
  if (options.json) {
    console.out << json;
    return kDone;
  }
  console.out << "\n" << goodput_table(study, found) << "\n" << goodput_notes(found, options.tolerance);
  if (placing) {
    console.out << "- " << points.size() << " points: every placement on at most " << options.placement
                << " GPUs that fits, most goodput per GPU first\n"
                << left_out_notes(left_out);
  }
  if (folder) console.out << "- results: " << folder->name().string() << "\n";
  return kDone;
}

}  // namespace

void add_goodput_command(CLI::App& program, const Console& console, Action& chosen) {
  auto options = std::make_shared<GoodputOptions>();
  CLI::App* app = program.add_subcommand("goodput", "Search the highest rate at which an experiment's SLOs are met");
  app->add_option("experiment", options->experiment, "The experiment's YAML file; its arrival rate is searched")
      ->required();
  app->add_option("--set", options->overrides, "path=value: changes the experiment, e.g. slo.ttft_s=0.2")
      ->allow_extra_args(false);
  app->add_option("--seeds", options->seeds, "Searches, each with its own random numbers [3]")
      ->check(CLI::Range(1, 1000));
  app->add_option("--tolerance", options->tolerance, "How close the rate is bracketed, as a share of it [0.01]")
      ->check(CLI::Range(0.0001, 1.0));
  app->add_option("--placement", options->placement,
                  "Search this many GPUs' placements: splits, stages and replicas of each pool; most per GPU first")
      ->check(CLI::Range(1, 1024));
  app->add_option("--out", options->out,
                  "Folder of the results [results/NAME-goodput]; one that holds results is replaced");
  app->add_option("--threads", options->threads, "Searches that run at once [one a core]")->check(CLI::Range(1, 1024));
  app->add_flag("--json", options->json, "Print JSON, with every run of the searches, instead of a table");
  app->add_flag("--quiet", options->quiet, "No progress");
  app->add_flag("--no-files", options->no_files, "Write no results folder")->excludes("--out");
  app->callback([options, &console, &chosen] { chosen = [options, &console] { return goodput(*options, console); }; });
}

}  // namespace servecast
