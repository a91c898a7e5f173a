// Whatever a user gets wrong: one message that names the place, exit code 2, and nothing written.
#include <doctest/doctest.h>
#include <unistd.h>

#include "tests/cli/program.hpp"

namespace servecast::test {
namespace {

const std::string kHeader = "arrival_s,prompt_tokens,output_tokens\n";
const std::string kTraced = experiment("  trace: trace.csv\n");

// Runs experiment `yaml`, with `trace` beside it as trace.csv.
void check_experiment(const std::string& yaml, const std::string& trace, std::initializer_list<const char*> parts) {
  const Folder folder;
  folder.write("bad.yaml", yaml);
  folder.write("trace.csv", trace);
  check_refused(folder, folder.run("run bad.yaml"), parts);
}

}  // namespace

TEST_CASE("malformed YAML is refused with its line") {
  check_experiment("servecast: 1\nmodel: [llama\n", "", {"bad.yaml:"});
}

TEST_CASE("an unknown key is refused with its line and the closest known one") {
  check_experiment(experiment() + "sead: 3\n", "", {"bad.yaml:10: sead", "did you mean 'seed'?"});
}

TEST_CASE("an unknown model is refused with the closest known one") {
  std::string yaml = experiment();
  yaml.replace(yaml.find("llama-3.1-8b"), 12, "lama-3.1-8b");
  check_experiment(yaml, "", {"bad.yaml: model: unknown model 'lama-3.1-8b'; did you mean 'llama-3.1-8b'?"});
}

TEST_CASE("a negative length is refused with its line and column") {
  check_experiment(kTraced, kHeader + "0,10,5\n1,-10,5\n", {"trace.csv:3: prompt_tokens"});
}

TEST_CASE("NaN is refused, in a trace and in an experiment") {
  check_experiment(kTraced, kHeader + "nan,10,5\n", {"trace.csv:2: arrival_s"});
  check_experiment(experiment() + "slo: {ttft_s: .nan}\n", "", {"bad.yaml:10: slo.ttft_s"});
}

TEST_CASE("an empty trace is refused") {
  check_experiment(kTraced, "", {"trace.csv"});
  check_experiment(kTraced, kHeader, {"trace.csv"});
}

TEST_CASE("arrivals out of order are refused with their line and the remedy") {
  check_experiment(kTraced, kHeader + "5,10,5\n1,10,5\n", {"trace.csv:3", "sort"});
}

TEST_CASE("truncated JSON is refused") {
  const Folder folder;
  folder.write("trace.jsonl",
               "{\"arrival_s\": 0, \"prompt_tokens\": 5, \"output_tokens\": 5}\n{\"arrival_s\": 1, \"pro");
  folder.write("bad.yaml", experiment("  trace: trace.jsonl\n"));
  check_refused(folder, folder.run("run bad.yaml"), {"trace.jsonl:2"});
  folder.write("config.json", "{\"model_type\": \"llama\", \"hidden_size\": 40");
  folder.write("model.yaml", experiment());
  check_refused(folder, folder.run("run model.yaml --set model=./config.json"), {"config.json"});
}

TEST_CASE("10^18 tokens are refused, and not simulated") {
  check_experiment(kTraced, kHeader + "0,1000000000000000000,5\n", {"trace.csv:2: prompt_tokens"});
  check_experiment(experiment("  lengths: {prompt: {fixed: 1000000000000000000}, output: {fixed: 1}}\n"
                              "  arrivals: all-at-once\n  requests: 1\n"),
                   "", {"bad.yaml:5: workload.lengths.prompt.fixed"});
}

TEST_CASE("a model that does not fit is refused, and by how much") {
  check_experiment(experiment() + "sweep: {model: [llama-3.1-8b, llama-3.1-70b]}\n", "",
                   {"at the point model=llama-3.1-70b", "does not fit", "GiB) are missing"});
}

TEST_CASE("an output that cannot be written is refused before anything runs") {
  const Folder folder;
  folder.write("one.yaml", experiment());
  folder.write("file", "");
  check_refused(folder, folder.run("run one.yaml --out file/below"), {"file/below", "cannot be written"});
  check_refused(folder, folder.run("run one.yaml --out ."), {"exists and holds no results of servecast"});
  check_refused(folder, folder.run("run one.yaml --out /proc/servecast"), {"/proc/servecast"});
  CHECK(folder.has("one.yaml"));
  if (::geteuid() == 0) {
    MESSAGE("skipped: a folder without write permission stops everybody but root");
    return;
  }
  fs::create_directory(folder.path() / "locked");
  fs::permissions(folder.path() / "locked", fs::perms::owner_read | fs::perms::owner_exec);
  check_refused(folder, folder.run("run one.yaml --out locked/results"), {"Permission denied"});
}

TEST_CASE("files that are not there are refused") {
  const Folder folder;
  check_refused(folder, folder.run("run none.yaml"), {"none.yaml"});
  check_refused(folder, folder.run("trace stats none.csv"), {"none.csv"});
  check_refused(folder, folder.run("model ./none.json"), {"none.json"});
}

TEST_CASE("arguments that make no sense are refused") {
  const Folder folder;
  check_refused(folder, folder.run(""), {"servecast --help"});
  check_refused(folder, folder.run("fly"), {"servecast --help"});
  check_refused(folder, folder.run("run"), {"experiment"});
  check_refused(folder, folder.run("run one.yaml --thread 2"), {"--thread"});
  check_refused(folder, folder.run("run one.yaml --threads 0"), {"--threads"});
  check_refused(folder, folder.run("model llama-3.1-8b --device h100"), {"unknown device 'h100'"});
  check_refused(folder, folder.run("model llama-3.1-8b --reserve-gb 2"), {"--device"});
  folder.write("one.yaml", experiment());
  check_refused(folder, folder.run("run one.yaml --set workload.requests=many"), {"workload.requests"});
}

}  // namespace servecast::test
