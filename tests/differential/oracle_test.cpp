// Every scheduler against an independent oracle of the same rules: on random specs, from tight to ample
// memory, the emission instants and the preemption counts must be equal. A few hundred specs with the
// oracle's answers are committed beside this file; where the oracle itself is at hand, thousands of fresh
// ones are asked of it.
#include <cstdio>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/random.hpp"
#include "tests/support/unit_run.hpp"

using namespace servecast;
using namespace servecast::test;
using nlohmann::json;

namespace {

const std::string kHere = std::string(SERVECAST_SOURCE_DIR) + "/tests/differential/";
const std::string kOracle = std::string(SERVECAST_SOURCE_DIR) + "/../shared/tools/ref_sched.py";
constexpr int kSpecsPerPolicy = 3000;

std::int64_t option(const json& spec, const char* key, std::int64_t fallback) {
  return spec.at("options").value(key, fallback);
}

// The oracle counts watermarks in blocks; ours is a share of the blocks (a little above, so that it rounds down to it).
double watermark(const json& spec, std::int64_t usable) {
  return (static_cast<double>(option(spec, "wm", 0)) + 0.5) / static_cast<double>(usable);
}

Spec to_spec(const json& in) {
  Spec spec;
  for (const json& r : in.at("requests")) spec.requests.push_back({r[0], r[1], r[2], r[3]});
  spec.usable_blocks = in.at("blocks");
  spec.block_size = in.at("block_size");
  const std::string policy = in.at("policy");
  if (policy == "static") {
    spec.options = StaticOptions{option(in, "B", 2), Tokens{option(in, "maxlen", 16)}, true, false, Duration{0}};
  } else if (policy == "orca") {
    spec.options = OrcaOptions{option(in, "B", 3), Reservation::kMax, Tokens{option(in, "maxlen", 16)}};
    spec.usable_blocks *= spec.block_size;
    spec.block_size = 1;
  } else if (policy == "vllm_v0") {
    spec.options = VllmV0Options{option(in, "S", 4), Tokens{option(in, "M", 32)}, watermark(in, spec.usable_blocks)};
  } else if (policy == "sarathi") {
    spec.options =
        SarathiOptions{Tokens{option(in, "C", 8)}, option(in, "S", 4), watermark(in, spec.usable_blocks), true};
  } else if (policy == "vllm_v1") {
    VllmV1Options o;
    o.max_num_batched_tokens = Tokens{option(in, "M", 8)};
    o.max_num_seqs = option(in, "S", 4);
    o.chunked_prefill = in.at("options").value("chunk", true);
    o.reserve_full_isl = in.at("options").value("full_isl", true);
    spec.options = o;
    spec.usable_blocks -= 1;
  } else {
    SglangOptions o;
    o.chunked_prefill_size = Tokens{option(in, "chunk", 8)};
    o.new_token_ratio = in.at("options").value("ratio", 0.7);
    o.min_new_token_ratio = 0.1;
    o.ratio_decay = 0;
    o.max_running_requests = 8;
    spec.options = o;
  }
  return spec;
}

void check_equal(const json& in, const json& answer) {
  const Spec spec = to_spec(in);
  json emitted = json::object();
  std::int64_t preemptions = -1;
  std::string failure;
  try {
    const Outcomes out = run(spec);
    for (std::size_t i = 0; i < spec.requests.size(); ++i) emitted[spec.requests[i].name] = out.emitted_at[i];
    preemptions = out.result.preemptions;
  } catch (const std::exception& error) {
    failure = error.what();
  }
  INFO(in.dump());
  CHECK(failure == "");
  CHECK(emitted.dump() == answer.at("emitted_at").dump());
  CHECK(preemptions == answer.at("preemptions").get<std::int64_t>());
}

std::int64_t draw(RandomStream& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Requests in order of arrival, several at the same instant; memory from "one request just fits" to ample.
json random_spec(const std::string& policy, RandomStream& random) {
  static const std::int64_t block_sizes[]{1, 2, 3, 4, 8, 16};
  json spec{{"policy", policy}, {"requests", json::array()}, {"options", json::object()}};
  const std::int64_t bs = policy == "sglang" ? 1 : block_sizes[draw(random, 0, 5)];
  const std::int64_t count = draw(random, 1, 9);
  std::int64_t arrival = draw(random, 0, 2), longest = 0, blocks_of_all = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t prompt = draw(random, 1, 24), output = draw(random, 1, 12);
    spec["requests"].push_back({std::string(1, static_cast<char>('A' + i)), arrival, prompt, output});
    arrival += draw(random, 0, 1) == 0 ? 0 : draw(random, 0, 6);
    longest = std::max(longest, prompt + output);
    blocks_of_all += ceil_div(prompt + output, bs);
  }
  json& options = spec["options"];
  const std::int64_t slots = draw(random, 1, 8);
  std::int64_t least = ceil_div(longest, bs);
  if (policy == "static" || policy == "orca") {
    options = {{"B", slots}, {"maxlen", longest + draw(random, 0, 8)}};
    least = ceil_div(options["maxlen"].get<std::int64_t>(), bs);
    blocks_of_all = least * count;
  } else if (policy == "vllm_v0") {
    options = {{"S", slots}, {"M", longest + draw(random, 0, 40)}, {"wm", draw(random, 0, 2)}};
    least += 1 + options["wm"].get<std::int64_t>();
  } else if (policy == "sarathi") {
    options = {{"S", slots}, {"C", draw(random, 1, 40)}, {"wm", draw(random, 0, 2)}};
    least += 1 + options["wm"].get<std::int64_t>();
  } else if (policy == "vllm_v1") {
    const bool chunk = draw(random, 0, 3) != 0;
    options = {{"S", slots},
               {"M", chunk ? draw(random, 1, 40) : longest + draw(random, 0, 20)},
               {"chunk", chunk},
               {"full_isl", draw(random, 0, 3) != 0}};
    least += 1;
  } else {
    options = {{"chunk", draw(random, 1, 40)}, {"ratio", static_cast<double>(draw(random, 1, 10)) / 10.0}};
    least += 1;
  }
  spec["block_size"] = bs;
  spec["blocks"] = draw(random, 0, 1) == 0 ? least + draw(random, 0, 3) : draw(random, least, least + blocks_of_all);
  return spec;
}

std::vector<json> ask_oracle(const std::vector<json>& specs, const std::string& name) {
  const auto file = std::filesystem::temp_directory_path() / ("servecast_specs_" + name + ".jsonl");
  std::ofstream out(file);
  for (const json& spec : specs) out << spec.dump() << '\n';
  out.close();
  const std::string command = "python3 '" + kOracle + "' batch < '" + file.string() + "'";
  std::vector<json> answers;
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string line;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    if (c != '\n') {
      line.push_back(static_cast<char>(c));
      continue;
    }
    answers.push_back(json::parse(line));
    line.clear();
  }
  CHECK(pclose(pipe) == 0);
  std::filesystem::remove(file);
  return answers;
}

void fresh_specs_agree(const std::string& policy) {
  if (!std::filesystem::exists(kOracle)) {
    MESSAGE("skipped: the oracle is not beside this checkout; the committed answers were checked");
    return;
  }
  RandomStream random = stream(20261201, "differential " + policy);
  std::vector<json> specs;
  for (int i = 0; i < kSpecsPerPolicy; ++i) specs.push_back(random_spec(policy, random));
  const std::vector<json> answers = ask_oracle(specs, policy);
  REQUIRE(answers.size() == specs.size());
  std::int64_t preempting = 0;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    check_equal(specs[i], answers[i]);
    preempting += answers[i].at("preemptions").get<std::int64_t>() > 0 ? 1 : 0;
  }
  MESSAGE(policy << ": " << specs.size() << " specs agree with the oracle, " << preempting << " of them preempt");
}

}  // namespace

TEST_CASE("the committed answers of the oracle are met") {
  std::ifstream in(kHere + "oracle_answers.jsonl");
  REQUIRE(in.good());
  int specs = 0;
  for (std::string line; std::getline(in, line); ++specs) {
    const json entry = json::parse(line);
    check_equal(entry.at("spec"), entry.at("answer"));
  }
  CHECK(specs >= 300);
}

TEST_CASE("static batching agrees with the oracle on fresh specs") { fresh_specs_agree("static"); }
TEST_CASE("Orca agrees with the oracle on fresh specs") { fresh_specs_agree("orca"); }
TEST_CASE("vLLM V0 agrees with the oracle on fresh specs") { fresh_specs_agree("vllm_v0"); }
TEST_CASE("vLLM V1 agrees with the oracle on fresh specs") { fresh_specs_agree("vllm_v1"); }
TEST_CASE("Sarathi agrees with the oracle on fresh specs") { fresh_specs_agree("sarathi"); }
TEST_CASE("SGLang agrees with the oracle on fresh specs") { fresh_specs_agree("sglang"); }
