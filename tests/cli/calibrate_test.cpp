// `servecast calibrate import`, and the profiles it makes in experiments.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace servecast::test {
namespace {

const char* const kTable =
    "{\"facebook/opt-13b\": {\"1\": {\"decoding_large_small_bs_threshold\": 95, \"prefill\": [18, 0.1, 7e-6],\n"
    " \"decoding_smallbs\": [20, 0.0006, 0.04], \"decoding_largebs\": [7, 0.0005, 0.16]}}}\n";
const std::string kImport =
    "calibrate import distserve table.json --engine distserve --model opt-13b --tensor-parallel ";

}  // namespace

TEST_CASE("a published table becomes a profile that an experiment runs with, named in its results") {
  const Folder folder;
  folder.write("table.json", kTable);
  const Ran imported = folder.run(kImport + "1 --out steps-tp1.json");
  REQUIRE_MESSAGE(imported.code == 0, imported.err);
  CHECK(imported.out.find("prefill of 512 tokens") != std::string::npos);
  const auto profile = nlohmann::json::parse(folder.read("steps-tp1.json"));
  CHECK(profile["provenance"]["made_by"].get<std::string>().find("import distserve table.json") != std::string::npos);
  folder.write(
      "e.yaml",
      "servecast: 1\nmodel: opt-13b\nprofile: ./steps-tp{tensor_parallel}.json\n"
      "workload: {lengths: {prompt: {fixed: 512}, output: {fixed: 11}}, arrivals: {uniform: {rate: 1}}, requests: 3}\n"
      "deployment: {policy: vllm-v1}\n");
  const Ran ran = folder.run("run e.yaml --out found");
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(ran.out.find("step times: a profile of DistServe on a100-80g-sxm") != std::string::npos);
  const auto manifest = nlohmann::json::parse(folder.read("found/manifest.json"));
  bool named = false;
  for (const auto& input : manifest["inputs"]) named = named || input["role"] == "profile";
  CHECK(named);
}

TEST_CASE("an import that is refused leaves no file, and names what is wrong") {
  const Folder folder;
  folder.write("table.json", kTable);
  const Ran split = folder.run(kImport + "2 --out p.json");
  CHECK(split.code == 2);
  CHECK(split.err.find("table.json: facebook/opt-13b: is not there over 2 tensor ranks") != std::string::npos);
  folder.write("table.json", std::string(kTable).substr(0, 100));
  CHECK(folder.run(kImport + "1 --out p.json").code == 2);
  CHECK(folder.run(kImport + "1 --out p.json").err.find("is no JSON, or is cut off") != std::string::npos);
  CHECK_FALSE(folder.has("p.json"));
}

}  // namespace servecast::test
