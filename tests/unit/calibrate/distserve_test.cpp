#include "calibrate/distserve.hpp"

#include <doctest/doctest.h>
#include <filesystem>

#include "costmodel/profile/json_fields.hpp"
#include "costmodel/profile/simdistserve.hpp"
#include "sim/error.hpp"

namespace servecast::test {
namespace {

// In their form, with figures of our own.
const std::string kTable = R"({"facebook/opt-13b": {"1": {"decoding_large_small_bs_threshold": 95,
  "prefill": [18, 0.1, 7e-6], "decoding_smallbs": [20, 0.0006, 0.04], "decoding_largebs": [7, 0.0005, 0.16]}}})";

DistserveChoice choice(std::int64_t ranks = 1) {
  DistserveChoice c;
  c.model = "opt-13b";
  c.tensor_parallel = ranks;
  c.longest_prompt = Tokens{2048};
  c.made_by = "a test";
  return c;
}

std::string error_of(const std::string& text, const DistserveChoice& asked = choice()) {
  try {
    (void)import_distserve(text, "t.json", asked);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

StepShape prefill_512() {
  static const PrefillChunk kChunk{Tokens{512}, Tokens{0}};
  StepShape shape;
  shape.prefills = {&kChunk, 1};
  return shape;
}

// Contexts of 512 tokens, and the one that each makes.
StepShape decode_of(std::int64_t sequences) {
  StepShape shape;
  shape.decode_sequences = sequences;
  shape.decode_context = Tokens{513 * sequences};
  return shape;
}

double ms(Duration d) { return seconds(d) * 1e3; }

const std::filesystem::path kPublished =
    std::filesystem::path(SERVECAST_SOURCE_DIR) / "../shared/data/profiles/distserve";

bool absent() {
  if (std::filesystem::exists(kPublished)) return false;
  MESSAGE("skipped: no ", kPublished.string());
  return true;
}

StepsProfile published(const std::string& file, std::int64_t ranks) {
  const std::string path = (kPublished / file).string();
  return std::get<StepsProfile>(import_distserve(read_json_file(path), path, choice(ranks)).steps);
}

}  // namespace

TEST_CASE("DistServe's milliseconds become seconds, with the larger batches' law from its threshold on") {
  const Profile profile = import_distserve(kTable, "t.json", choice());
  const auto& steps = std::get<StepsProfile>(profile.steps);
  CHECK(steps.prefill.step_s == doctest::Approx(0.018).scale(0));
  CHECK(steps.prefill.token_squared_s == doctest::Approx(7e-9).scale(0));
  REQUIRE(steps.decode.size() == 2);
  CHECK(steps.decode[1].from_sequences == 95);
  CHECK(steps.decode[1].sequence_s == doctest::Approx(0.00016).scale(0));
  CHECK(profile.provenance.licence == "Apache-2.0");
  CHECK(profile.provenance.device == "a100-80g-sxm");
}

TEST_CASE("a table of another form, model, split, unit or axis order is refused by file and field") {
  CHECK(error_of(kTable).empty());
  DistserveChoice other = choice();
  other.model = "opt-66b";
  CHECK(error_of(kTable, other).starts_with("t.json: has no model 'opt-66b'"));
  CHECK(error_of(kTable, choice(2)) == "t.json: facebook/opt-13b: is not there over 2 tensor ranks; the file has 1");
  CHECK(
      error_of(with(kTable, "[18,", "[0.018,")) ==
      "t.json: facebook/opt-13b.1.prefill[0]: is no step in milliseconds; expected 0.1 to 10000: are these seconds, or "
      "in another order?");
  CHECK(error_of(with(kTable, "[18, 0.1, 7e-6]", "[18, 7e-6, 0.1]"))
            .starts_with("t.json: facebook/opt-13b.1.prefill: can't be in the order of this format"));
  CHECK(error_of(with(kTable, "[20, 0.0006, 0.04]", "[20, 0.04, 0.0006]"))
            .starts_with("t.json: facebook/opt-13b.1.decoding_smallbs: can't be in the order of this format"));
  CHECK(error_of(with(kTable, "[18, 0.1, 7e-6]", "[18, 0.1]")) ==
        "t.json: facebook/opt-13b.1.prefill: must be three numbers; found 2");
  CHECK(error_of(with(kTable, "\"decoding_largebs\"", "\"decoding_hugebs\""))
            .starts_with("t.json: facebook/opt-13b.1.decoding_hugebs: unknown field"));
  CHECK(error_of(kTable.substr(0, 60)).starts_with("t.json:1: is no JSON, or is cut off"));
}

// papers.md B.4: what DistServe's own simulator takes for OPT-13B on one A100-80GB. The published file holds the
// calibration factor of its prefill law (1.1) already, and 65.590 is without it.
TEST_CASE("figures: simdistserve's step times of OPT-13B follow from its published coefficients") {
  if (absent()) return;
  const StepsProfile distserve = published("profiler-a100-80g.distserve.json", 1);
  const StepsProfile vllm = published("profiler-a100-80g.vllm.json", 1);
  StepsModel without_factor(distserve, {1 / 1.1, 1}, {});
  CHECK(ms(without_factor.cost(prefill_512()).device) == doctest::Approx(65.590).epsilon(1e-5));
  SimdistserveModel simulator(distserve, 1);
  CHECK(ms(simulator.cost(prefill_512()).device) == doctest::Approx(73.149).epsilon(1e-5));
  CHECK(ms(simulator.cost(prefill_512()).host) == doctest::Approx(2.0512).epsilon(1e-6));
  CHECK(ms(simulator.cost(decode_of(32)).device) == doctest::Approx(31.459).epsilon(2e-5));
  CHECK(ms(simulator.cost(decode_of(128)).device) == doctest::Approx(65.502).epsilon(1e-5));
  SimdistserveModel of_vllm(vllm, 1);
  CHECK(ms(of_vllm.cost(prefill_512()).device) == doctest::Approx(97.110).epsilon(1e-5));
}

TEST_CASE("every model and split that DistServe publishes is imported") {
  if (absent()) return;
  for (const char* file : {"profiler-a100-80g.distserve.json", "profiler-a100-80g.vllm.json"}) {
    for (const std::int64_t ranks : {1, 2, 4}) CHECK_MESSAGE(published(file, ranks).decode.size() == 2, file);
  }
}

}  // namespace servecast::test
