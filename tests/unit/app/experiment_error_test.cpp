#include <doctest/doctest.h>
#include <filesystem>
#include <rapidcheck.h>

#include "app/experiment/keys.hpp"
#include "sim/error.hpp"
#include "tests/unit/app/experiment_support.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

// The message about one more line (line 6) after a valid experiment.
std::string line_error(const std::string& line) { return error_of(kBase + line + "\n"); }
// About a workload or deployment of one line (line 5).
std::string workload_error(const std::string& keys) {
  return error_of(kHead + kDeployment + "workload: {" + keys + "}\n");
}
std::string arrivals_error(const std::string& text) { return workload_error("trace: t.csv, arrivals: " + text); }
std::string deployment_error(const std::string& keys) {
  return error_of(kHead + kWorkload + "deployment: {" + keys + "}\n");
}
std::string prompt_error(const std::string& text) {
  return workload_error("lengths: {output: {fixed: 7}, prompt: " + text + "}, requests: 5, arrivals: all-at-once");
}

}  // namespace

TEST_CASE("a file that is no experiment is refused") {
  const std::string begins = "an experiment begins with 'servecast: 1'";
  CHECK(error_of("") == "exp.yaml: is empty; " + begins);
  CHECK(error_of("# nothing\n") == "exp.yaml: is empty; " + begins);
  CHECK(error_of("hello\n") == "exp.yaml:1: expected an experiment, found 'hello'; " + begins);
  CHECK(error_of("[1, 2]\n") == "exp.yaml:1: expected an experiment, found a list; " + begins);
  CHECK(error_of("model: x\n") == "exp.yaml:1: servecast: is missing; " + begins);
  CHECK(error_of("servecast: 2\nfuture: 1\n") == "exp.yaml:1: servecast: version '2' is not known; expected 1");
  CHECK(error_of("servecast: one\n") == "exp.yaml:1: servecast: version 'one' is not known; expected 1");
  CHECK(error_of(std::string("a\0b", 3)) == "exp.yaml: is not a text file; expected YAML");
  CHECK(error_of("servecast: 1\nname: \xff\n") == "exp.yaml: is not UTF-8 text");
  CHECK(error_of("servecast: 1\nname: \xc3") == "exp.yaml: is not UTF-8 text");
  CHECK(error_of("servecast: 1\nname: \xed\xa0\x80\n") == "exp.yaml: is not UTF-8 text");
  CHECK(error_of("servecast: 1\nmodel: \"a\\0b\"\n") ==
        "exp.yaml:2: model: expected a name or a path, found the text 'a?b'");
  CHECK(error_of("--- {}\n--- {}\n") == "exp.yaml: is not one YAML document");
  CHECK(error_of(",servecast: 1\n") == "exp.yaml: is not one YAML document");
  CHECK(error_of("]\n") == "exp.yaml:1: is not YAML: illegal flow end");
}

TEST_CASE("a file that cannot be read is refused by name") {
  const auto message = [](const std::filesystem::path& path) {
    try {
      static_cast<void>(load_study(path));
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string{};
  };
  CHECK(message("no/such.yaml") == "no/such.yaml: cannot be read; expected an experiment file");
  CHECK(message(std::filesystem::temp_directory_path()).ends_with("cannot be read; expected an experiment file"));
}

TEST_CASE("broken YAML is refused with its line") {
  CHECK(error_of("servecast: 1\nmodel: a: b\n") == "exp.yaml:2: is not YAML: illegal map value");
  CHECK(error_of("servecast: 1\nsweep: {a: [1\n").starts_with("exp.yaml:"));
  CHECK(line_error("\tseed: 1").starts_with("exp.yaml:"));
  CHECK(line_error("name: !!str x") == "exp.yaml:6: the tag 'tag:yaml.org,2002:str' has no meaning here");
  CHECK(line_error("[a]: 1") == "exp.yaml:1: has a key that is not text");
  CHECK(line_error("name: *no").starts_with("exp.yaml:6: is not YAML: "));
}

TEST_CASE("documents that grow without end are refused") {
  CHECK(line_error("sweep: &a [*a]").find("is nested more than 40 deep") != std::string::npos);
  std::string bomb = "sweep:\n  a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "  a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 0; j < 9; ++j) bomb += ", " + before;
    bomb += "]\n";
  }
  CHECK(error_of(kBase + bomb).find("has more than 200000 values") != std::string::npos);
}

TEST_CASE("unknown keys are refused by line, with the nearest name") {
  CHECK(line_error("sede: 1") == "exp.yaml:6: sede: unknown key; did you mean 'seed'?");
  CHECK(line_error("slo:\n  ttft: 1") == "exp.yaml:7: slo.ttft: unknown key; did you mean 'ttft_s'?");
  CHECK(arrivals_error("{poison: {rate: 1}}") ==
        "exp.yaml:5: workload.arrivals.poison: unknown key; did you mean 'poisson'?");
  CHECK(deployment_error("policy: sarathi, token_budget: 3") ==
        "exp.yaml:5: deployment.token_budget: unknown key; did you mean 'deployment.options.sarathi.token_budget'?");
  CHECK(line_error("window: {zzzzzzzzzz: 1}") ==
        "exp.yaml:6: window.zzzzzzzzzz: unknown key; expected one of: warm_up_s, cool_down_s");
  CHECK(arrivals_error("{all-at-once: {x: 1}}") ==
        "exp.yaml:5: workload.arrivals.all-at-once.x: unknown key; it takes no keys");
}

TEST_CASE("keys given twice are refused") {
  CHECK(line_error("seed: 1\nseed: 1") == "exp.yaml:7: seed: is given twice");
  CHECK(deployment_error("policy: orca, policy: orca") == "exp.yaml:5: deployment.policy: is given twice");
}

TEST_CASE("values of another type are refused by what was expected") {
  const std::string seed = "a whole number from 0 to 9223372036854775807";
  CHECK(line_error("seed: abc") == "exp.yaml:6: seed: expected " + seed + ", found 'abc'");
  CHECK(line_error("seed: 1.5") == "exp.yaml:6: seed: expected " + seed + ", found '1.5'");
  CHECK(line_error("seed: '1'") == "exp.yaml:6: seed: expected " + seed + ", found the text '1'");
  CHECK(line_error("seed: [1]") == "exp.yaml:6: seed: expected " + seed + ", found a list");
  CHECK(line_error("seed:") == "exp.yaml:6: seed: expected " + seed + ", found nothing");
  CHECK(line_error("seed: {a: 1}") == "exp.yaml:6: seed: expected " + seed + ", found a map");
  CHECK(line_error("slo: 3") == "exp.yaml:6: slo: expected a map of: ttft_s, tpot_s, e2e_s, attainment, found '3'");
  CHECK(line_error("slo: {ttft_s: 0.5 s}") ==
        "exp.yaml:6: slo.ttft_s: expected a number above 0, at most 9e+09, found '0.5 s'");
  CHECK(line_error("name: a b") ==
        "exp.yaml:6: name: expected a name of letters, digits, '.', '_' and '-', found 'a b'");
  CHECK(deployment_error("policy: sarathi, async_scheduling: yes") ==
        "exp.yaml:5: deployment.async_scheduling: expected true or false, found 'yes'");
  CHECK(deployment_error("policy: [sarathi]") ==
        "exp.yaml:5: deployment.policy: expected one of: static, orca, vllm-v0, vllm-v1, sarathi, sglang, distserve, "
        "splitwise, found a list");
  CHECK(workload_error("trace: [a]")
            .starts_with("exp.yaml:5: workload.trace: expected a path or a map of: path, format, sort, "));
  CHECK(workload_error("trace: ''") == "exp.yaml:5: workload.trace: expected a path, found the text ''");
  CHECK(workload_error("trace: t.csv, max_tokens: pined") ==
        "exp.yaml:5: workload.max_tokens: expected 'pinned' or a whole number from 1 to 2147483647, found 'pined'");
}

TEST_CASE("numbers out of bounds are refused with the bounds") {
  CHECK(line_error("seed: -1") ==
        "exp.yaml:6: seed: -1 is out of range; expected a whole number from 0 to 9223372036854775807");
  CHECK(line_error("seed: 9223372036854775808").find("is out of range; expected a whole number") != std::string::npos);
  CHECK(deployment_error("policy: sarathi, options: {sarathi: {token_budget: 1000000000000000000}}") ==
        "exp.yaml:5: deployment.options.sarathi.token_budget: 1000000000000000000 is out of range; expected a whole "
        "number from 1 to 2147483647");
  CHECK(
      workload_error("trace: t.csv, max_tokens: 1000000000000000000") ==
      "exp.yaml:5: workload.max_tokens: 1000000000000000000 is out of range; expected 'pinned' or a whole number from "
      "1 to 2147483647");
  CHECK(deployment_error("policy: sarathi, gpu_memory_utilization: 1.5") ==
        "exp.yaml:5: deployment.gpu_memory_utilization: 1.5 is out of range; expected a number above 0, at most 1");
  CHECK(deployment_error("policy: sarathi, gpu_memory_utilization: 0")
            .ends_with("0 is out of range; expected a number above 0, at most 1"));
  CHECK(arrivals_error("{poisson: {rate: -8}}") ==
        "exp.yaml:5: workload.arrivals.poisson.rate: -8 is out of range; expected 'goodput' or a number from 1e-09 to "
        "1e+09");
  CHECK(arrivals_error("{poisson: {rate: 1e999}}").find("1e999 is out of range") != std::string::npos);
  CHECK(arrivals_error("{poisson: {rate: 1e-999}}").find("1e-999 is out of range") != std::string::npos);
  for (const std::string odd : {".nan", "nan", ".inf", "-.inf", ".NaN", "inf", "-Infinity"}) {
    CAPTURE(odd);
    CHECK(arrivals_error("{poisson: {rate: " + odd + "}}") ==
          "exp.yaml:5: workload.arrivals.poisson.rate: " + odd +
              " is not finite; expected 'goodput' or a number from 1e-09 to 1e+09");
  }
}

TEST_CASE("unknown policies and other choices are refused with those known") {
  CHECK(deployment_error("policy: sarati") ==
        "exp.yaml:5: deployment.policy: unknown value 'sarati'; did you mean 'sarathi'?");
  CHECK(deployment_error("policy: tensorrt-llm") ==
        "exp.yaml:5: deployment.policy: unknown value 'tensorrt-llm'; expected one of: static, orca, vllm-v0, vllm-v1, "
        "sarathi, sglang, distserve, splitwise");
  CHECK(deployment_error("policy: orca, kv_dtype: fp17").find("unknown value 'fp17'; did you mean 'fp16'?") !=
        std::string::npos);
  CHECK(workload_error("trace: {path: t.csv, format: azur}")
            .starts_with("exp.yaml:5: workload.trace.format: unknown value 'azur'; did you mean 'azure"));
}

TEST_CASE("what is missing is named, with what belongs there") {
  CHECK(error_of("servecast: 1\ndevice: d\n" + kDeployment + kWorkload) ==
        "exp.yaml:1: model: is missing; expected a name or a path");
  CHECK(error_of(kHead + kWorkload) ==
        "exp.yaml:1: deployment.policy: is missing; expected one of: static, orca, vllm-v0, vllm-v1, sarathi, sglang, "
        "distserve, splitwise");
  CHECK(workload_error("trace: {sort: true}") == "exp.yaml:5: workload.trace.path: is missing; expected a path");
  CHECK(arrivals_error("{poisson: {}}") ==
        "exp.yaml:5: workload.arrivals.poisson.rate: is missing; expected 'goodput' or a number from 1e-09 to 1e+09");
  CHECK(workload_error("requests: 3, arrivals: all-at-once") ==
        "exp.yaml:5: workload.trace: is missing; name a trace, or give lengths or conversations");
  CHECK(workload_error("lengths: {prompt: {fixed: 1}, output: {fixed: 1}}, requests: 3") ==
        "exp.yaml:5: workload.arrivals: as-recorded needs a trace; choose an arrival process, such as poisson");
  CHECK(workload_error("lengths: {prompt: {fixed: 1}, output: {fixed: 1}}, arrivals: all-at-once") ==
        "exp.yaml:5: workload.requests: is missing; without a trace their number must be given");
  CHECK(prompt_error("{at_most: 3}") ==
        "exp.yaml:5: workload.lengths.prompt: has no alternative; expected one of: fixed, uniform, zipf, lognormal");
}

TEST_CASE("alternatives exclude each other, and some need more than their name") {
  CHECK(arrivals_error("{poisson: {rate: 1}, uniform: {rate: 1}}") ==
        "exp.yaml:5: workload.arrivals: has both 'poisson' and 'uniform'; expected one of them");
  CHECK(arrivals_error("poisson") ==
        "exp.yaml:5: workload.arrivals: 'poisson' needs more than its name; write {poisson: {rate: …}}");
  CHECK(prompt_error("fixed") ==
        "exp.yaml:5: workload.lengths.prompt: 'fixed' needs more than its name; write {fixed: …}");
  CHECK(arrivals_error("as_recorded") ==
        "exp.yaml:5: workload.arrivals: unknown value 'as_recorded'; did you mean 'as-recorded'?");
}

TEST_CASE("parts that do not go together are refused") {
  CHECK(workload_error("trace: t.csv, resample: true, cycle: true") ==
        "exp.yaml:5: workload.cycle: does not go with 'resample'; expected one of them");
  CHECK(workload_error("trace: t.csv, arrivals: all-at-once, lengths: {prompt: {fixed: 1}, output: {fixed: 1}}") ==
        "exp.yaml:5: workload.trace: has no effect; it applies only where lengths or arrivals are taken from it");
  CHECK(workload_error("trace: t.csv, cycle: true") ==
        "exp.yaml:5: workload.cycle: has no effect; it applies only where arrivals are not as-recorded");
  CHECK(workload_error("trace: {path: t.csv, characters_per_token: 4, tokenizer: m}") ==
        "exp.yaml:5: workload.trace.characters_per_token: does not go with a tokenizer; expected one of them");
  CHECK(arrivals_error("{weibull: {rate: 1, cv: 1, shape: 1}}") ==
        "exp.yaml:5: workload.arrivals.weibull: needs its cv or its shape; expected exactly one of them");
  CHECK(prompt_error("{uniform: {min: 5, max: 4}}") ==
        "exp.yaml:5: workload.lengths.prompt.uniform: min is above max; expected min <= max");
  CHECK(prompt_error("{lognormal: {mean: 5, p90: 4}}") ==
        "exp.yaml:5: workload.lengths.prompt.lognormal: is not determined; expected mean and sigma, or median and p90");
  CHECK(prompt_error("{fixed: 5, at_least: 9, at_most: 8}") ==
        "exp.yaml:5: workload.lengths.prompt.at_least: is above at_most; expected at_least <= at_most");
  CHECK(deployment_error("policy: sglang, options: {sglang: {new_token_ratio: 0.05}}") ==
        "exp.yaml:5: deployment.options.sglang.min_new_token_ratio: is above new_token_ratio; expected at most 0.05");
}

TEST_CASE("an unknown key is refused wherever it stands") {
  int maps = 0;
  experiments::for_each_key(experiments::experiment_keys(), [&](const experiments::Key& key, const std::string& path) {
    using Kind = experiments::Key::Kind;
    if (key.kind != Kind::kMap && key.kind != Kind::kOneOf) return;
    ++maps;
    CAPTURE(path);
    CHECK(error_of(kBase, {path + ".no-such-key=1"})
              .starts_with("--set: " + path + ".no-such-key: unknown key 'no-such-key' in '" + path + "'"));
    CHECK(error_of(kBase, {path + "={no-such-key: 1}"}).starts_with("--set: " + path + ".no-such-key: unknown key; "));
  });
  CHECK(maps > 40);
}

TEST_CASE("no damage to a file does more than get it refused") {
  const std::string whole = kBase + "slo: {ttft_s: 0.5}\nsweep:\n  seed: [1, 2]\n  deployment.policy: [orca, static]\n";
  CHECK(rc::check([&] {
    std::string text = whole;
    const int edits = *rc::gen::inRange(1, 6);
    for (int i = 0; i < edits; ++i) {
      const std::size_t at = *rc::gen::inRange<std::size_t>(0, text.size());
      const char c = *rc::gen::element('{', '}', '[', ']', ':', ',', '\n', ' ', '-', '&', '*', '!', '#', '"', '\'', '9',
                                       '\t', '|', '?', '\xff');
      if (*rc::gen::arbitrary<bool>()) text[at] = c;
      else text.insert(at, 1, c);
    }
    static_cast<void>(error_of(text));  // any other exception fails the property
  }));
}
