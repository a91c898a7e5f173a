// What schedulers do to latency and to the cache, by simulation.
#include <algorithm>
#include <string>

#include "tests/figures/served.hpp"
#include "traces/lengths.hpp"

using namespace servecast;
using namespace servecast::figures;

namespace {

constexpr std::int64_t kAmple = 400'000;  // tokens; about what an 80 GB card leaves Llama-3.1-8B

RooflineModel llama_on_a100() { return {shipped_model("llama-3.1-8b"), shipped_device("a100-80g-sxm"), {}}; }

double prefill_s(std::int64_t tokens) {
  RooflineModel roofline = llama_on_a100();
  const PrefillChunk chunk{Tokens{tokens}, Tokens{0}};
  return seconds(roofline.cost(prefill_step(chunk)).device);
}

// 32 answers are being written when one long prompt arrives.
std::vector<Arrival> long_prompt_among_32(std::int64_t prompt) {
  std::vector<Arrival> arrivals(32, arrival(0, 128, 400));
  arrivals.push_back(arrival(2, prompt, 16));
  return arrivals;
}

struct Effect {
  double longest_gap_s = 0;  // of the 32
  double ttft_s = 0;         // of the long prompt
};

Effect effect_of(const Served& served) {
  Effect effect;
  for (std::uint32_t i = 0; i < 32; ++i) {
    effect.longest_gap_s = std::max(effect.longest_gap_s, seconds(served.requests[i].max_itl));
  }
  const Request& late = served.requests[32];
  effect.ttft_s = seconds(late.first_token_at - late.arrived_at);
  return effect;
}

// Lengths like ShareGPT's: means of 161 and 338 tokens, together at most 2048.
std::vector<Arrival> chat(std::int64_t requests) {
  const auto shape = [](double mean) { return LengthSpec{LogNormalLength{mean, 0.9, {}, {}}, 4, 1024}; };
  LengthSampler prompts(shape(161), stream(1, "prompts"), "prompt");
  LengthSampler outputs(shape(338), stream(1, "outputs"), "output");
  std::vector<Arrival> arrivals;
  for (std::int64_t i = 0; i < requests; ++i) {
    const Tokens output = outputs.next();
    arrivals.push_back({kStart, prompts.next(), output, output});
  }
  return arrivals;
}

std::unique_ptr<Served> opt_13b_on_a100_40g(const SchedulerOptions& options) {
  const ModelShape model = shipped_model("opt-13b");
  RooflineModel roofline(model, shipped_device("a100-40g-sxm"), published_dtypes(model));
  const MemoryPlan plan = plan_with_kv(model, Bytes{std::int64_t{12} << 30}, published_dtypes(model));
  return serve({options, plan.slots().count()}, chat(300), roofline);
}

std::unique_ptr<Served> reserving(Reservation reservation) {
  return opt_13b_on_a100_40g(OrcaOptions{.max_batch = 256, .reserve = reservation});
}

}  // namespace

TEST_CASE("S0-33 and S2-16: the useful share of the KV memory grows from max over power of two and exact to paged") {
  const double most = reserving(Reservation::kMax)->summary.kv_useful_share;
  const double power = reserving(Reservation::kPowerOfTwo)->summary.kv_useful_share;
  const double exact = reserving(Reservation::kExact)->summary.kv_useful_share;
  const double paged = opt_13b_on_a100_40g(VllmV0Options{})->summary.kv_useful_share;
  INFO("useful share: max ", most, ", power of two ", power, ", exact ", exact, ", paged ", paged);
  CHECK(most >= 0.15);
  CHECK(most <= 0.30);
  CHECK(most < power);
  CHECK(power < exact);
  CHECK(exact < paged);
  CHECK(paged >= 0.94);
}

TEST_CASE("B.2: reserving 2048 of 15,728 slots serves 7 requests at once; the batch grows to exact and to paged") {
  const auto most = reserving(Reservation::kMax);
  CHECK(most->seen.most_running == 7);
  const auto exact = reserving(Reservation::kExact);
  const auto paged = opt_13b_on_a100_40g(VllmV0Options{});
  INFO("batch ", most->summary.mean_running, " ", exact->summary.mean_running, " ", paged->summary.mean_running);
  CHECK(exact->summary.mean_running > 2 * most->summary.mean_running);
  CHECK(paged->summary.mean_running > exact->summary.mean_running);
}

TEST_CASE("S0-34: while sequences decode, less than one block of each is unused") {
  RooflineModel roofline = llama_on_a100();
  for (const SchedulerOptions& options :
       {SchedulerOptions{VllmV0Options{}}, SchedulerOptions{VllmV1Options{}}, SchedulerOptions{SarathiOptions{}}}) {
    for (const std::int64_t block_size : {1, 16, 64}) {
      const auto alone = serve({options, 4096, block_size}, {arrival(0, 100, 200)}, roofline);
      CHECK(alone->seen.looked_at >= 198);
      CHECK(alone->seen.wasteful == 0);
      const auto many = serve({options, 20'000, block_size}, chat(40), roofline);
      CHECK(many->seen.looked_at > 100);
      CHECK(many->seen.wasteful == 0);
    }
  }
}

TEST_CASE("S0-43: a long prompt among 32 decodes stalls Orca for its prefill; V0 serves it first, Sarathi last") {
  const std::int64_t prompt = 8000;
  const auto run = [&](const SchedulerOptions& options) {
    RooflineModel roofline = llama_on_a100();
    return effect_of(*serve({options, kAmple}, long_prompt_among_32(prompt), roofline));
  };
  const Effect orca = run(OrcaOptions{});
  const Effect v0 = run(VllmV0Options{.max_num_seqs = 256, .max_num_batched_tokens = Tokens{8192}, .watermark = 0.01});
  const Effect sarathi = run(SarathiOptions{});
  INFO("orca ", orca.longest_gap_s, " ", orca.ttft_s, " v0 ", v0.longest_gap_s, " ", v0.ttft_s, " sarathi ",
       sarathi.longest_gap_s, " ", sarathi.ttft_s, " prefill ", prefill_s(prompt));
  CHECK(orca.longest_gap_s == doctest::Approx(prefill_s(prompt)).epsilon(0.05).scale(0));
  CHECK(v0.ttft_s <= orca.ttft_s);
  CHECK(orca.ttft_s <= sarathi.ttft_s);
  CHECK(sarathi.longest_gap_s < 0.25 * orca.longest_gap_s);
  CHECK(sarathi.longest_gap_s < 0.25 * v0.longest_gap_s);
}

TEST_CASE("S2-07: 4096 tokens in chunks of 1024 take four steps, of which three emit nothing") {
  RooflineModel roofline = llama_on_a100();
  const auto served = serve({SarathiOptions{.token_budget = Tokens{1024}}, kAmple}, {arrival(0, 4096, 2)}, roofline);
  const std::vector<SeenStep>& steps = served->seen.steps;
  REQUIRE(steps.size() == 5);
  for (std::size_t i = 0; i < 4; ++i) {
    REQUIRE(steps[i].prefills.size() == 1);
    CHECK(steps[i].prefills[0].tokens == Tokens{1024});
    CHECK(steps[i].prefills[0].context == Tokens{1024 * static_cast<std::int64_t>(i)});
    CHECK(steps[i].emitters.size() == (i == 3 ? 1U : 0U));
  }
  CHECK(steps[4].decodes == 1);
}

TEST_CASE("S2-40: every step that runs a chunk of the long prompt also decodes all 32") {
  RooflineModel roofline = llama_on_a100();
  const auto served = serve({SarathiOptions{}, kAmple}, long_prompt_among_32(8000), roofline);
  int chunks = 0;
  for (const SeenStep& step : served->seen.steps) {
    if (step.chunks.size() != 1 || step.chunks[0].request != 32) continue;
    ++chunks;
    CHECK(step.decodes == 32);
    CHECK(step.prefills[0].tokens + Tokens{32} <= Tokens{512});
  }
  CHECK(chunks == 17);  // 8000 / (512 - 32), rounded up
}

TEST_CASE("S0-45: vLLM V1 cuts prompts unless told otherwise") {
  CHECK(std::get<VllmV1Options>(default_options("vllm-v1")).chunked_prefill);
}

TEST_CASE("S2-41: pages and kernels are independent: neither's time depends on the other's size or speed") {
  const auto run = [](std::int64_t block_size, double slower) {
    DeviceSheet device = shipped_device("a100-80g-sxm");
    device.efficiency.prefill_attention.compute /= slower;
    RooflineModel roofline(shipped_model("llama-3.1-8b"), device, {});
    return serve({VllmV0Options{}, kAmple, block_size}, chat(20), roofline);
  };
  const auto base = run(16, 1);
  const auto pages = run(1, 1);
  const auto kernel = run(16, 2);
  CHECK(pages->result.ended_at == base->result.ended_at);
  CHECK(pages->result.peak_blocks > base->result.peak_blocks);
  CHECK(kernel->result.ended_at > base->result.ended_at);
  CHECK(kernel->result.peak_blocks == base->result.peak_blocks);
}
