#include <doctest/doctest.h>

#include "tests/unit/app/experiment_support.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

// The example of the design, as it stands there.
const char* const kExample = R"(
servecast: 1                      # schema version
model: llama-3.1-8b               # models/NAME.json, or a path to a HF config.json
device: h100-sxm                  # devices/NAME.yaml, or a path; or profile: path/to/profile.json
workload:
  trace: azure-conv.csv           # or lengths: {prompt: {lognormal: …}, output: …} or sessions: …
  arrivals: {poisson: {rate: 8}}  # or as-recorded, gamma, uniform, closed-loop
  requests: 2000
  max_tokens: pinned              # or a number
deployment:
  policy: sarathi                 # static | orca | vllm-v0 | vllm-v1 | sarathi | distserve | splitwise | sglang
  options: {sarathi: {token_budget: 512}}   # by policy; a block that no point of the grid uses is an error
  tensor_parallel: 1
slo: {ttft_s: 0.5, tpot_s: 0.05, attainment: 0.9}
sweep:
  workload.arrivals.poisson.rate: [2, 4, 8, 16]
  deployment.policy: [orca, sarathi]
seed: 1
)";

// "2 orca | 2 sarathi | …"
std::string grid(const Study& study) {
  std::string text;
  for (const GridPoint& point : study.points) {
    if (!text.empty()) text += " | ";
    for (std::size_t i = 0; i < point.axes.size(); ++i) text += (i == 0 ? "" : " ") + point.axes[i].second;
  }
  return text;
}

std::string grid_of(const std::string& sweep) { return grid(study(kBase + "sweep:\n" + sweep)); }
std::string sweep_error(const std::string& sweep) { return error_of(kBase + "sweep:\n" + sweep); }

}  // namespace

TEST_CASE("the example of the design spans eight points, the first axis slowest") {
  const Study s = study(kExample);
  CHECK(s.axes == std::vector<std::string>{"workload.arrivals.poisson.rate", "deployment.policy"});
  CHECK(grid(s) == "2 orca | 2 sarathi | 4 orca | 4 sarathi | 8 orca | 8 sarathi | 16 orca | 16 sarathi");
  CHECK(s.points[0].axes[0].first == "workload.arrivals.poisson.rate");
  const Experiment& last = s.points[7].experiment;
  CHECK(std::get<PoissonArrivals>(last.workload.spec.arrivals).rate_per_s == 16);
  CHECK(std::get<SarathiOptions>(last.deployment.policy).token_budget == Tokens{512});
  CHECK(std::holds_alternative<OrcaOptions>(s.points[6].experiment.deployment.policy));
  CHECK(s.text == kExample);
}

TEST_CASE("an experiment without a sweep is one point without axes") {
  CHECK(study(kBase).points.size() == 1);
  CHECK(study(kBase).points[0].axes.empty());
  CHECK(study(kBase + "sweep: {}\n").points.size() == 1);
}

TEST_CASE("an axis may hold whole maps") {
  const Study s =
      study(kBase + "sweep:\n  deployment.options.sarathi: [{token_budget: 256}, {token_budget: 9, watermark: 0}]\n");
  CHECK(grid(s) == "{token_budget: 256} | {token_budget: 9, watermark: 0}");
  CHECK(std::get<SarathiOptions>(s.points[1].experiment.deployment.policy).watermark == 0);
  CHECK(std::get<SarathiOptions>(s.points[0].experiment.deployment.policy).watermark == 0.01);
}

TEST_CASE("an axis over one policy's option counts once beside the other policies") {
  const std::string axes =
      "  deployment.policy: [orca, sarathi]\n  deployment.options.sarathi.token_budget: [256, 512]\n";
  CHECK(grid_of(axes) == "orca - | sarathi 256 | sarathi 512");
  CHECK(grid_of("  deployment.options.sarathi.token_budget: [256, 512]\n  deployment.policy: [orca, sarathi]\n") ==
        "- orca | 256 sarathi | 512 sarathi");
  CHECK(grid_of("  deployment.policy: [orca]\n  deployment.options.orca.reserve: [max, exact]\n"
                "  deployment.options.orca.max_len: [8, 9]\n") == "orca max 8 | orca max 9 | orca exact -");
}

TEST_CASE("an axis may name a key whose parents the file leaves out or writes as a scalar") {
  CHECK(grid_of("  slo.ttft_s: [0.1, 0.2]\n") == "0.1 | 0.2");
  const Study s = study(
      kBase + "sweep:\n  workload.arrivals.as-recorded.time_scale: [0.5, 2]\n  workload.trace.sort: [true, false]\n");
  CHECK(grid(s) == "0.5 true | 0.5 false | 2 true | 2 false");
  CHECK(s.points[0].experiment.workload.trace->path.filename() == "t.csv");
  CHECK(study(kHead + kWorkload + "sweep: {deployment.policy: [orca, static]}\n").points.size() == 2);
}

TEST_CASE("wrong axes are refused, by line") {
  CHECK(sweep_error("  deployment.polcy: [orca]\n") ==
        "exp.yaml:7: sweep.deployment.polcy: unknown key 'polcy' in 'deployment'; did you mean 'policy'?");
  CHECK(sweep_error("  seed: 3\n") == "exp.yaml:7: sweep.seed: expected a list of values, found '3'");
  CHECK(sweep_error("  seed: []\n") == "exp.yaml:7: sweep.seed: has no values");
  CHECK(sweep_error("  seed: [1, 2, 1]\n") == "exp.yaml:7: sweep.seed: has 1 twice");
  CHECK(sweep_error("  workload.arrivals.poisson.rate: [4, 4.0]\n") ==
        "exp.yaml:7: sweep.workload.arrivals.poisson.rate: has 4.0 twice");
  CHECK(sweep_error("  seed: [1]\n  seed: [2]\n") == "exp.yaml:8: sweep.seed: is given twice");
  CHECK(sweep_error("  seed:\n    - 1\n    - x\n") ==
        "exp.yaml:9: sweep.seed: expected a whole number from 0 to 9223372036854775807, found 'x'");
  CHECK(sweep_error("  servecast: [1]\n") == "exp.yaml:7: sweep.servecast: cannot be swept");
  CHECK(sweep_error("  deployment.options: [{}]\n") ==
        "exp.yaml:7: sweep.deployment.options: cannot be swept as a whole; sweep one policy's options: "
        "deployment.options.NAME");
  CHECK(error_of(kBase + "sweep: [1]\n") ==
        "exp.yaml:6: sweep: expected a map from paths to lists of values, found a list");
}

TEST_CASE("axes that would replace each other are refused") {
  CHECK(sweep_error("  workload.arrivals.poisson.rate: [1]\n  workload.arrivals.gamma.rate: [1]\n") ==
        "exp.yaml:8: sweep.workload.arrivals.gamma.rate: would replace what the axis 'workload.arrivals.poisson.rate' "
        "sets");
  CHECK(sweep_error("  deployment.options.sarathi.watermark: [0]\n  deployment.options.sarathi: [{}]\n") ==
        "exp.yaml:8: sweep.deployment.options.sarathi: would replace what the axis "
        "'deployment.options.sarathi.watermark' "
        "sets");
}

TEST_CASE("what fails at one point only names the point") {
  CHECK(sweep_error("  seed: [1]\n  workload.arrivals: [as-recorded, {weibull: {rate: 3}}]\n") ==
        "exp.yaml:8: workload.arrivals.weibull: needs its cv or its shape; expected exactly one of them; at the point "
        "seed=1, workload.arrivals={weibull: {rate: 3}}");
}

TEST_CASE("a grid too large to be meant is refused") {
  std::string values = "[1";
  for (int i = 2; i <= 400; ++i) values += ", " + std::to_string(i);
  values += "]\n";
  CHECK(sweep_error("  seed: " + values + "  workload.requests: " + values) ==
        "exp.yaml:1: sweep: spans more than 100000 points");
}

TEST_CASE("options that no point of the grid uses are refused") {
  const std::string head = kHead + kWorkload;
  CHECK(error_of(head + "deployment:\n  policy: sarathi\n  options:\n    orca: {max_batch: 3}\n") ==
        "exp.yaml:8: deployment.options.orca: has no effect; it applies only where deployment.policy is orca");
  CHECK(error_of(head +
                 "deployment:\n  policy: sarathi\n  options:\n    orca: {}\nsweep: {deployment.policy: [static]}\n") ==
        "exp.yaml:8: deployment.options.orca: has no effect at any point of the sweep; it applies only where "
        "deployment.policy is orca");
  CHECK(sweep_error("  deployment.options.orca.max_batch: [1, 2]\n") ==
        "exp.yaml:7: deployment.options.orca: has no effect at any point of the sweep; it applies only where "
        "deployment.policy is orca");
  CHECK(error_of(head + "deployment: {policy: orca, options: {orca: {max_len: 5}}}\n") ==
        "exp.yaml:5: deployment.options.orca.max_len: has no effect; it applies only where reserve is max");
  CHECK(error_of(kBase + "slo: {attainment: 0.5}\n") ==
        "exp.yaml:6: slo.attainment: has no effect; it applies only where an objective is given beside it");
}

TEST_CASE("an override counts as though the file had it") {
  CHECK(experiment(kBase, {"deployment.policy=orca"}).deployment.policy.index() == 1);
  const Experiment e = experiment(kBase, {"workload.arrivals={poisson: {rate: 3}}", "workload.arrivals.poisson.rate=4",
                                          "workload.trace.sort=true", "seed=9"});
  CHECK(std::get<PoissonArrivals>(e.workload.spec.arrivals).rate_per_s == 4);
  CHECK(e.workload.trace->sort);
  CHECK(e.workload.trace->path.filename() == "t.csv");
  CHECK(e.workload.spec.seed == 9);
}

TEST_CASE("a path of an override is relative to the working directory") {
  CHECK(experiment(kBase, {"workload.trace=sub/other.csv"}).workload.trace->path == "sub/other.csv");
}

TEST_CASE("an override may make, replace and remove axes") {
  CHECK(grid(study(kBase, {"sweep.deployment.policy=[orca, static]"})) == "orca | static");
  CHECK(grid(study(kExample, {"sweep.workload.arrivals.poisson.rate=[1]"})) == "1 orca | 1 sarathi");
  CHECK(study(kExample, {"sweep={}"}).points.size() == 1);
}

TEST_CASE("wrong overrides are refused as from the command line") {
  CHECK(error_of(kBase, {"seed"}) == "--set: 'seed' is not an override; expected path=value");
  CHECK(error_of(kBase, {"sed=1"}) == "--set: sed: unknown key 'sed'; did you mean 'seed'?");
  CHECK(error_of(kBase, {"seed=-1"}) ==
        "--set: seed: -1 is out of range; expected a whole number from 0 to 9223372036854775807");
  CHECK(error_of(kBase, {"seed="}) ==
        "--set: seed: expected a whole number from 0 to 9223372036854775807, found nothing");
  CHECK(error_of(kBase, {"seed=["}).starts_with("--set: is not YAML: "));
  CHECK(error_of(kBase, {"sweep.sed=[1]"}) == "--set: sweep.sed: unknown key 'sed'; did you mean 'seed'?");
  CHECK(error_of(kBase, {"servecast=2"}) == "--set: servecast: 2 is out of range; expected 1");
}

TEST_CASE("an override that the sweep would replace is refused") {
  CHECK(
      error_of(kExample, {"deployment.policy=orca"}) ==
      "--set: deployment.policy: is replaced by the axis 'deployment.policy'; set sweep.deployment.policy=[…] instead");
  CHECK(error_of(kExample, {"workload.arrivals=all-at-once"})
            .starts_with("--set: workload.arrivals: is replaced by the axis 'workload.arrivals.poisson.rate'"));
  CHECK(error_of(kExample, {"workload={trace: b.csv}"}).empty());
  CHECK(error_of(kExample, {"workload.arrivals.gamma.rate=3"})
            .starts_with(
                "--set: workload.arrivals.gamma.rate: is replaced by the axis 'workload.arrivals.poisson.rate'"));
}
