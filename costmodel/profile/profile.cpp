#include "costmodel/profile/profile.hpp"

#include <nlohmann/json.hpp>

#include "costmodel/dtype.hpp"
#include "costmodel/profile/json_fields.hpp"
#include "sim/error.hpp"
#include "sim/overloaded.hpp"

namespace servecast {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostRanks = 1024;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 31;
constexpr std::int64_t kMostSequences = 1'000'000;

const std::vector<std::string>& mixed_names() {  // in the order of MixedSteps
  static const std::vector<std::string> kNames{"shared-constant", "sum"};
  return kNames;
}

Provenance read_provenance(const JsonFields& fields) {
  fields.check_keys({"device", "model", "dtype", "tensor_parallel", "pipeline_parallel", "engine", "source", "licence",
                     "origin", "made_by"});
  Provenance p;
  p.device = fields.at("device").text();
  p.model = fields.at("model").text();
  p.dtype = fields.at("dtype").choice({"fp32", "bf16", "fp16", "fp8", "int8", "int4"});
  p.tensor_parallel = fields.at("tensor_parallel").whole(1, kMostRanks);
  p.pipeline_parallel = fields.at("pipeline_parallel").whole(1, kMostRanks);
  p.engine = fields.at("engine").text();
  p.source = fields.at("source").text();
  p.licence = fields.at("licence").text();
  p.origin = fields.at("origin").text();
  p.made_by = fields.at("made_by").text();
  return p;
}

PrefillSteps read_prefill(const JsonFields& fields) {
  fields.check_keys({"step_s", "token_s", "token_squared_s", "longest_prompt_tokens"});
  PrefillSteps law;
  law.step_s = fields.at("step_s").positive();
  law.token_s = fields.at("token_s").not_negative();
  law.token_squared_s = fields.at("token_squared_s").number();
  law.longest_prompt = Tokens{fields.at("longest_prompt_tokens").whole(1, kMostTokens)};
  const double longest = static_cast<double>(law.longest_prompt.count());
  if (law.token_s + 2 * law.token_squared_s * longest < 0) {
    fields.at("token_squared_s")
        .fail("makes long prompts faster than shorter ones", "lower longest_prompt_tokens, or fit without it");
  }
  return law;
}

std::vector<DecodeSteps> read_decode(const JsonFields& list) {
  std::vector<DecodeSteps> laws;
  for (const JsonFields& fields : list.items()) {
    fields.check_keys({"from_sequences", "step_s", "context_token_s", "sequence_s"});
    DecodeSteps law;
    law.from_sequences = fields.at("from_sequences").whole(1, kMostSequences);
    law.step_s = fields.at("step_s").positive();
    law.context_token_s = fields.at("context_token_s").not_negative();
    law.sequence_s = fields.at("sequence_s").not_negative();
    const std::int64_t least = laws.empty() ? 1 : laws.back().from_sequences + 1;
    if (laws.empty() ? law.from_sequences != 1 : law.from_sequences < least) {
      fields.at("from_sequences")
          .fail("must rise from 1", "expected " + std::to_string(least) + (laws.empty() ? "" : " or more"));
    }
    laws.push_back(law);
  }
  return laws;
}

StepsProfile read_steps(const JsonFields& fields) {
  fields.check_keys({"prefill", "decode", "mixed"});
  StepsProfile steps;
  steps.prefill = read_prefill(fields.at("prefill"));
  steps.decode = read_decode(fields.at("decode"));
  const std::string mixed = fields.at("mixed").choice(mixed_names());
  steps.mixed = mixed == mixed_names()[0] ? MixedSteps::kSharedConstant : MixedSteps::kSum;
  return steps;
}

Json provenance_json(const Provenance& p) {
  return {{"device", p.device},
          {"model", p.model},
          {"dtype", p.dtype},
          {"tensor_parallel", p.tensor_parallel},
          {"pipeline_parallel", p.pipeline_parallel},
          {"engine", p.engine},
          {"source", p.source},
          {"licence", p.licence},
          {"origin", p.origin},
          {"made_by", p.made_by}};
}

Json steps_json(const StepsProfile& steps) {
  Json decode = Json::array();
  for (const DecodeSteps& law : steps.decode) {
    decode.push_back({{"from_sequences", law.from_sequences},
                      {"step_s", law.step_s},
                      {"context_token_s", law.context_token_s},
                      {"sequence_s", law.sequence_s}});
  }
  const PrefillSteps& prefill = steps.prefill;
  Json json;
  json["prefill"] = {{"step_s", prefill.step_s},
                     {"token_s", prefill.token_s},
                     {"token_squared_s", prefill.token_squared_s},
                     {"longest_prompt_tokens", prefill.longest_prompt.count()}};
  json["decode"] = std::move(decode);
  json["mixed"] = mixed_names()[static_cast<std::size_t>(steps.mixed)];
  return json;
}

}  // namespace

Profile parse_profile(std::string_view json, const std::string& file) {
  const JsonFields fields = JsonFields::parse(json, file);
  const std::int64_t version = fields.at("servecast_profile").whole(1, INT32_MAX);
  if (version != kProfileVersion) {
    fields.at("servecast_profile")
        .fail("is version " + std::to_string(version), "this program reads version " + std::to_string(kProfileVersion));
  }
  fields.check_keys({"servecast_profile", "kind", "provenance", "steps"});
  [[maybe_unused]] const std::string kind = fields.at("kind").choice({"steps"});
  return {read_provenance(fields.at("provenance")), read_steps(fields.at("steps"))};
}

Profile load_profile(const std::string& path) { return parse_profile(read_json_file(path), path); }

std::string profile_json(const Profile& profile) {
  Json json;
  json["servecast_profile"] = kProfileVersion;
  json["kind"] = "steps";
  json["provenance"] = provenance_json(profile.provenance);
  json["steps"] = std::visit(Overloaded{[](const StepsProfile& steps) { return steps_json(steps); }}, profile.steps);
  return json.dump(2) + "\n";
}

std::unique_ptr<StepCostModel> make_profile_model(const Profile& profile, PhaseScale scale, HostTime host) {
  return std::visit(Overloaded{[&](const StepsProfile& steps) -> std::unique_ptr<StepCostModel> {
                      return std::make_unique<StepsModel>(steps, scale, host);
                    }},
                    profile.steps);
}

Tokens longest_prompt(const Profile& profile) {
  return std::visit(Overloaded{[](const StepsProfile& steps) { return steps.prefill.longest_prompt; }}, profile.steps);
}

}  // namespace servecast
