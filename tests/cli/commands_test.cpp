// The commands beside `run`.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace servecast::test {
namespace {

using Json = nlohmann::json;

}  // namespace

TEST_CASE("model prints parameters, memory that adds up, and both rooflines") {
  const Folder folder;
  const Ran text = folder.run("model llama-3.1-8b --device h100-sxm");
  REQUIRE_MESSAGE(text.code == 0, text.err);
  CHECK(text.out.find("8,030,261,248") != std::string::npos);
  CHECK(text.out.find("131,072") != std::string::npos);  // KV bytes of one token
  const Ran ran = folder.run("model llama-3.1-8b --device h100-sxm --json --context 1000,8000 --batch 1,1024");
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  const Json json = Json::parse(ran.out);
  CHECK(json["parameters"] == 8'030'261'248);
  const Json& memory = json["memory_per_device"];
  CHECK(memory["usable_bytes"] ==
        memory["weights_bytes"].get<std::int64_t>() + memory["activations_bytes"].get<std::int64_t>() +
            memory["reserve_bytes"].get<std::int64_t>() + memory["kv_bytes"].get<std::int64_t>());
  REQUIRE(json["decode"].size() == 2);
  CHECK(json["decode"][0]["bound_by"] == "memory");
  for (const char* table : {"decode", "prefill"}) {
    for (const Json& row : json[table]) CHECK(row["step_s"].get<double>() >= row["bound_s"].get<double>());
  }
  CHECK(json["prefill"][1]["bound_by"] == "compute");
  // 1,024 sequences of 1,000 tokens take 134 GB.
  CHECK(json["decode"][1]["fits"] == false);
  CHECK(json["fits"][0]["sequences"].get<double>() >= json["fits"][0]["sequences_in_blocks"].get<double>());
}

TEST_CASE("model needs no device for parameters, and names the devices that a large model takes") {
  const Folder folder;
  const Ran alone = folder.run("model llama-3.1-70b");
  CHECK(alone.code == 0);
  CHECK(alone.out.find("70,553,706,496") != std::string::npos);
  const Ran large = folder.run("model llama-3.1-70b --device h100-sxm");
  CHECK(large.code == 2);
  CHECK(large.err.find("it fits with --tp 2") != std::string::npos);
  CHECK(folder.run("model llama-3.1-70b --device h100-sxm --tp 2").code == 0);
}

TEST_CASE("model shows a pipeline: the fullest stage's memory, a step through all stages, and tokens with all full") {
  const Folder folder;
  const Ran text = folder.run("model llama-3.1-8b --device h100-sxm --pp 3");
  REQUIRE_MESSAGE(text.code == 0, text.err);
  CHECK(text.out.find("memory of h100-sxm, stage 1 of 3, the fullest") != std::string::npos);
  const auto decode = [&](const std::string& pp) {
    const Ran ran = folder.run("model llama-3.1-8b --device h100-sxm --batch 8 --json --pp " + pp);
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    return Json::parse(ran.out)["decode"][0];
  };
  const Json one = decode("1"), two = decode("2");
  CHECK(two["step_s"].get<double>() > one["step_s"].get<double>());
  CHECK(two["tokens_per_s"].get<double>() > 1.5 * one["tokens_per_s"].get<double>());
  CHECK(two["tokens_per_s"].get<double>() < 2 * one["tokens_per_s"].get<double>());
  CHECK(folder.run("model llama-3.1-8b --device h100-sxm --pp 33").code == 2);
}

TEST_CASE("a trace that is converted says the same") {
  const Folder folder;
  folder.write("in.csv", "arrival_s,prompt_tokens,output_tokens\n0,100,5\n1.5,200,7\n4,300,9\n");
  REQUIRE(folder.run("trace convert in.csv out.jsonl").code == 0);
  const Ran first = folder.run("trace stats in.csv --json");
  const Ran second = folder.run("trace stats out.jsonl --json");
  REQUIRE_MESSAGE(first.code == 0, first.err);
  REQUIRE_MESSAGE(second.code == 0, second.err);
  const Json a = Json::parse(first.out);
  const Json b = Json::parse(second.out);
  CHECK(a["requests"] == 3);
  CHECK(a["requests_per_s"] == 0.5);
  for (const char* key : {"requests", "prompt_tokens", "output_tokens", "span_s", "gap_cv"}) CHECK(a[key] == b[key]);
  CHECK(folder.run("trace stats in.csv").code == 0);
  const Ran nowhere = folder.run("trace convert in.csv none/out.csv");
  CHECK(nowhere.code == 2);
  const Ran no_format = folder.run("trace convert in.csv out.txt");
  CHECK(no_format.code == 2);
  CHECK_FALSE(folder.has("out.txt.partial"));
}

TEST_CASE("a generated trace, run as recorded, gives the results of its experiment") {
  const Folder folder;
  folder.write("one.yaml", experiment());
  REQUIRE(folder.run("trace generate one.yaml trace.csv").code == 0);
  folder.write("two.yaml", experiment("  trace: trace.csv\n"));
  REQUIRE(folder.run("run one.yaml --out one").code == 0);
  const Ran ran = folder.run("run two.yaml --out two");
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(folder.read("one/requests.csv") == folder.read("two/requests.csv"));
  const Ran closed = folder.run("trace generate one.yaml no.csv --set 'workload.arrivals={closed-loop: {clients: 2}}'");
  CHECK(closed.code == 2);
  CHECK_FALSE(folder.has("no.csv"));
  CHECK_FALSE(folder.has("no.csv.partial"));
}

TEST_CASE("lists, schema, version and help are printed") {
  const Folder folder;
  CHECK(folder.run("list models").out.find("llama-3.1-8b ") != std::string::npos);
  CHECK(folder.run("list devices").out.find("h100-sxm ") != std::string::npos);
  CHECK(folder.run("list policies").out == "static\norca\nvllm-v0\nvllm-v1\nsarathi\nsglang\ndistserve\nsplitwise\n");
  CHECK(folder.run("list formats").out.find("mooncake") != std::string::npos);
  CHECK(Json::parse(folder.run("schema").out).contains("$schema"));
  CHECK(folder.run("--version").out.starts_with("servecast 0."));
  const Ran help = folder.run("run --help");
  CHECK(help.code == 0);
  CHECK(help.out.find("--require-slo") != std::string::npos);
}

TEST_CASE("output that nobody can take is an error") {
  const Folder folder;
  CHECK(folder.run("list models >/dev/full").code == 2);
}

}  // namespace servecast::test
