#include "calibrate/distserve.hpp"

#include <cmath>

#include "costmodel/profile/json_fields.hpp"
#include "sim/error.hpp"

namespace servecast {
namespace {

constexpr double kMillisecond = 1e-3;
constexpr std::int64_t kMostSequences = 1'000'000;

struct Triple {
  double constant_ms, second, third;
};

Triple read_triple(const JsonFields& fields) {
  const std::vector<JsonFields> items = fields.items();
  if (items.size() != 3) fields.fail("must be three numbers", "found " + std::to_string(items.size()));
  const double constant = items[0].positive();
  if (constant < 0.1 || constant > 1e4) {
    items[0].fail("is no step in milliseconds", "expected 0.1 to 10000: are these seconds, or in another order?");
  }
  return {constant, items[1].not_negative(), items[2].number()};
}

[[noreturn]] void wrong_order(const JsonFields& fields, const std::string& expected) {
  fields.fail("can't be in the order of this format", "expected " + expected + ", each smaller than the one before");
}

PrefillSteps read_prefill(const JsonFields& fields, Tokens longest) {
  const Triple t = read_triple(fields);
  if (t.constant_ms <= t.second || t.second <= std::abs(t.third)) {
    wrong_order(fields, "milliseconds a step, a token and a squared token");
  }
  return {t.constant_ms * kMillisecond, t.second * kMillisecond, t.third * kMillisecond, longest};
}

DecodeSteps read_decode(const JsonFields& fields, std::int64_t from) {
  const Triple t = read_triple(fields);
  if (t.constant_ms <= t.third || t.third <= t.second) {
    fields.fail("can't be in the order of this format",
                "expected milliseconds a step, a token of context and a sequence, the second the smallest of them");
  }
  return {from, t.constant_ms * kMillisecond, t.second * kMillisecond, t.third * kMillisecond};
}

// "facebook/opt-13b" is opt-13b.
JsonFields find_model(const JsonFields& file, const std::string& model) {
  std::vector<std::string> known;
  for (const std::string& key : file.keys()) {
    known.push_back(key.substr(key.rfind('/') + 1));
    if (known.back() == model) return file.at(key);
  }
  file.fail("has no model '" + model + "'", suggest(model, known));
}

JsonFields find_split(const JsonFields& model, std::int64_t ranks) {
  const std::string key = std::to_string(ranks);
  if (!model.has(key)) {
    std::string known;
    for (const std::string& each : model.keys()) known += (known.empty() ? "" : ", ") + each;
    model.fail("is not there over " + key + " tensor ranks", "the file has " + known);
  }
  return model.at(key);
}

std::string origin_of(DistserveEngine engine) {
  const std::string common =
      "Fitted by the authors of DistServe (OSDI '24) to OPT in fp16 on A100-80GB SXM; a bare forward pass, without the "
      "engine's time on the host. The prefill law contains their calibration to runs of the engine, a factor of ";
  return engine == DistserveEngine::kDistserve ? common + "1.1." : common + "1.4, and the decode laws one of 1.2.";
}

}  // namespace

Profile import_distserve(std::string_view json, const std::string& file, const DistserveChoice& choice) {
  const JsonFields fields = find_split(find_model(JsonFields::parse(json, file), choice.model), choice.tensor_parallel);
  fields.check_keys({"decoding_large_small_bs_threshold", "prefill", "decoding_smallbs", "decoding_largebs"});
  const std::int64_t large = fields.at("decoding_large_small_bs_threshold").whole(2, kMostSequences);
  StepsProfile steps;
  steps.prefill = read_prefill(fields.at("prefill"), choice.longest_prompt);
  steps.decode = {read_decode(fields.at("decoding_smallbs"), 1), read_decode(fields.at("decoding_largebs"), large)};
  Profile profile;
  Provenance& p = profile.provenance;
  p.device = choice.device;
  p.model = choice.model;
  p.dtype = "fp16";
  p.tensor_parallel = choice.tensor_parallel;
  p.engine = choice.engine == DistserveEngine::kDistserve ? "DistServe" : "vLLM (2023)";
  p.source = "github.com/LLMServe/DistServe, simdistserve/estimators/profile_data/" + file.substr(file.rfind('/') + 1);
  p.licence = "Apache-2.0";
  p.origin = origin_of(choice.engine);
  p.made_by = choice.made_by;
  profile.steps = std::move(steps);
  return parse_profile(profile_json(profile), file);  // holds what every profile must
}

}  // namespace servecast
