#include "costmodel/profile/profile.hpp"

#include <array>
#include <doctest/doctest.h>

#include "costmodel/profile/simdistserve.hpp"
#include "sim/error.hpp"

namespace servecast::test {
namespace {

// Milliseconds, so that steps can be worked by hand.
const std::string kProfile = R"({
  "servecast_profile": 1,
  "kind": "steps",
  "provenance": {"device": "a100-80g-sxm", "model": "opt-13b", "dtype": "fp16", "tensor_parallel": 2,
    "pipeline_parallel": 1, "engine": "DistServe", "source": "a test", "licence": "Apache-2.0", "origin": "made up",
    "made_by": "hand"},
  "steps": {
    "prefill": {"step_s": 0.010, "token_s": 0.0001, "token_squared_s": 1e-8, "longest_prompt_tokens": 2048},
    "decode": [{"from_sequences": 1, "step_s": 0.020, "context_token_s": 1e-6, "sequence_s": 0.0001},
               {"from_sequences": 4, "step_s": 0.005, "context_token_s": 2e-6, "sequence_s": 0.0002}],
    "mixed": "shared-constant"
  }
})";

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text) {
  try {
    (void)parse_profile(text, "p.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

StepShape decode_of(std::int64_t sequences, std::int64_t context) {
  StepShape shape;
  shape.decode_sequences = sequences;
  shape.decode_context = Tokens{sequences * context};
  return shape;
}

double ms(StepCostModel& model, const StepShape& shape) { return seconds(model.cost(shape).device) * 1e3; }

}  // namespace

TEST_CASE("a steps profile prices prefills by tokens and squares, decodes by contexts and sequences") {
  const Profile profile = parse_profile(kProfile, "p.json");
  const auto model = make_profile_model(profile, {}, {});
  const std::array<PrefillChunk, 2> chunks{PrefillChunk{Tokens{100}, Tokens{0}}, {Tokens{300}, Tokens{0}}};
  StepShape prefill;
  prefill.prefills = chunks;
  // 10 + 0.1 · 400 + 1e-5 · (10,000 + 90,000)
  CHECK(ms(*model, prefill) == doctest::Approx(10 + 40 + 1));
  CHECK(ms(*model, decode_of(3, 1000)) == doctest::Approx(20 + 3 + 0.3));  // 20 + 1e-3 · 3,000 + 0.1 · 3
  CHECK(ms(*model, decode_of(4, 1000)) == doctest::Approx(5 + 8 + 0.8));   // the law from four on
}

TEST_CASE("chunks of a prompt add up to the whole of it, but for the constant of each step") {
  const auto model = make_profile_model(parse_profile(kProfile, "p.json"), {}, {});
  const auto of = [&](std::int64_t tokens, std::int64_t context) {
    const PrefillChunk chunk{Tokens{tokens}, Tokens{context}};
    StepShape shape;
    shape.prefills = {&chunk, 1};
    return ms(*model, shape);
  };
  CHECK(of(500, 0) + of(700, 500) == doctest::Approx(of(1200, 0) + 10));
}

TEST_CASE("a step of prefills and decodes has one constant, the larger, or where the profile says so both") {
  StepShape mixed = decode_of(2, 500);
  const PrefillChunk chunk{Tokens{100}, Tokens{0}};
  mixed.prefills = {&chunk, 1};
  // prefill 10 + 10 + 0.1, decode 20 + 1 + 0.2
  const auto shared = make_profile_model(parse_profile(kProfile, "p.json"), {}, {});
  CHECK(ms(*shared, mixed) == doctest::Approx(20.1 + 21.2 - 10));
  const auto sum = make_profile_model(parse_profile(with(kProfile, "shared-constant", "sum"), "p.json"), {}, {});
  CHECK(ms(*sum, mixed) == doctest::Approx(20.1 + 21.2));
}

TEST_CASE("each phase has a factor, and host time is of all steps or of those that decode") {
  const Profile profile = parse_profile(kProfile, "p.json");
  const auto slow = make_profile_model(profile, {1.5, 2}, {});
  const PrefillChunk chunk{Tokens{100}, Tokens{0}};
  StepShape prefill;
  prefill.prefills = {&chunk, 1};
  CHECK(ms(*slow, prefill) == doctest::Approx(1.5 * 20.1));
  CHECK(ms(*slow, decode_of(1, 1000)) == doctest::Approx(2 * 21.1));
  using std::chrono::microseconds;
  const auto all = make_profile_model(profile, {}, {microseconds{4000}, microseconds{100}, false});
  CHECK(all->cost(prefill).host == microseconds{4100});
  const auto decode_only = make_profile_model(profile, {}, {microseconds{4000}, microseconds{100}, true});
  CHECK(decode_only->cost(prefill).host == Duration{0});
  StepShape mixed = decode_of(3, 10);
  mixed.prefills = {&chunk, 1};
  CHECK(decode_only->cost(mixed).host == microseconds{4300});
}

TEST_CASE("a profile that is written is read back as the same, to the bit") {
  const Profile profile = parse_profile(kProfile, "p.json");
  const std::string written = profile_json(profile);
  CHECK(profile_json(parse_profile(written, "q.json")) == written);
  CHECK(written.find("1e-08") != std::string::npos);
}

TEST_CASE("what is wrong with a profile is named by file and field") {
  CHECK(error_of("{\"servecast_profile\": 1,\n oops}").starts_with("p.json:2: is no JSON, or is cut off"));
  CHECK(error_of("[]") == "p.json: must be an object; found []");
  CHECK(error_of(with(kProfile, "profile\": 1", "profile\": 2")) ==
        "p.json: servecast_profile: is version 2; this program reads version 1");
  CHECK(error_of(with(kProfile, "\"steps\",", "\"layers\",")).starts_with("p.json: kind: is 'layers'"));
  CHECK(error_of(with(kProfile, "\"licence\": \"Apache-2.0\", ", "")) == "p.json: provenance.licence: is missing");
  CHECK(error_of(with(kProfile, "\"Apache-2.0\"", "\"\"")) ==
        "p.json: provenance.licence: must be a text that is not empty; found \"\"");
  CHECK(error_of(with(kProfile, "token_s\": 0.0001", "tokens_s\": 0.0001")) ==
        "p.json: steps.prefill.tokens_s: unknown field; did you mean 'token_s'?");
  CHECK(error_of(with(kProfile, "\"step_s\": 0.010", "\"step_s\": \"fast\"")) ==
        "p.json: steps.prefill.step_s: must be a number; found \"fast\"");
  CHECK(error_of(with(kProfile, "\"step_s\": 0.020", "\"step_s\": 0")) ==
        "p.json: steps.decode[0].step_s: must be above 0; found 0");
  CHECK(error_of(with(kProfile, "0.010", "1e999")).starts_with("p.json: holds a number beyond all range"));
}

TEST_CASE("laws that fall where they must rise are refused") {
  CHECK(error_of(with(kProfile, "\"from_sequences\": 1", "\"from_sequences\": 2")) ==
        "p.json: steps.decode[0].from_sequences: must rise from 1; expected 1");
  CHECK(error_of(with(kProfile, "\"from_sequences\": 4", "\"from_sequences\": 1")) ==
        "p.json: steps.decode[1].from_sequences: must rise from 1; expected 2 or more");
  // 1e-4 − 2 · 3e-8 · 2,048 < 0
  CHECK(error_of(with(kProfile, "1e-8", "-3e-8"))
            .starts_with("p.json: steps.prefill.token_squared_s: makes long prompts faster than shorter ones"));
  CHECK(error_of(with(kProfile, "1e-8", "-2e-8")).empty());
}

}  // namespace servecast::test
