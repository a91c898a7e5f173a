// Intensity, ridges and the bounds they set on decode steps. Where a document rounds its inputs, so do we.
#include <vector>

#include "tests/figures/figure.hpp"

using namespace servecast;
using namespace servecast::figures;

namespace {

constexpr double kTuringPeak = 53.8e12;
constexpr double kTuringBandwidth = 616e9;

// Qwen2.5-1.5B as printed: 1.54 B parameters, 3.09 GB, 28 KiB a token.
ClosedForm qwen() { return {1.54e9, 3.09e9, 28'672, 28, 12 * 128}; }
ClosedForm llama() { return ClosedForm::of(shipped_model("llama-3.1-8b"), {}); }

double turing_decode_s(double batch, double context) {
  return roofline_seconds(qwen().decode_flops(batch, context), qwen().decode_bytes(batch, context), kTuringPeak,
                          kTuringBandwidth);
}

double decode_intensity(double batch, double context) {
  return qwen().decode_flops(batch, context) / qwen().decode_bytes(batch, context);
}

RooflineModel qwen_on_turing(DType weights = DType::kFp16) {
  const ModelShape model = shipped_model("qwen2.5-1.5b");
  const DeviceSheet device = shipped_device("rtx-2080-ti");
  Dtypes dtypes = runnable_dtypes(model, device);
  dtypes.weights = weights;
  return {model, device, dtypes};
}

double utilisation(const RooflineBound& bound) { return bound.compute_s / bound.seconds(); }

}  // namespace

TEST_CASE("S0-03: without KV and attention the intensity is the batch in decode and the prompt in prefill") {
  ClosedForm form;
  form.parameters = 1.54e9;
  form.weight_bytes = 2 * form.parameters;
  for (const double batch : {1.0, 16.0})
    CHECK(form.decode_flops(batch, 0) / form.decode_bytes(batch, 0) == closed(batch));
  CHECK(form.prefill_flops(512) / form.prefill_bytes(512) == closed(512));
}

TEST_CASE("S0-05: an RTX 2080 Ti's ridge is 87.3377 FLOP a byte, 174.6753 when it accumulates in fp16") {
  DeviceSheet device = shipped_device("rtx-2080-ti");
  CHECK(printed(device.ridge(DType::kFp16), 4) == "87.3377");
  device.peak.fp16 = 107.6e12;
  CHECK(printed(device.ridge(DType::kFp16), 4) == "174.6753");
}

TEST_CASE("S0-06: 312 TFLOP/s over 1.5 TB/s is 208; the parts have 200.6, 153.0, 295.3 and 206.1") {
  DeviceSheet rounded = shipped_device("a100-80g-sxm");
  rounded.bytes_per_second = 1.5e12;
  CHECK(rounded.ridge(DType::kBf16) == 208.0);
  const auto ridge = [](const char* name) { return printed(shipped_device(name).ridge(DType::kBf16), 1); };
  CHECK(ridge("a100-40g-sxm") == "200.6");
  CHECK(ridge("a100-80g-sxm") == "153.0");
  CHECK(ridge("h100-sxm") == "295.3");
  CHECK(ridge("h200") == "206.1");
}

TEST_CASE("S2-06: an A100's ridge of 200 is the 40 GB card's 200.6; the 80 GB SXM card has 153.0") {
  CHECK(printed(shipped_device("a100-40g-pcie").ridge(DType::kBf16), 1) == "200.6");
  CHECK(printed(shipped_device("a100-80g-sxm").ridge(DType::kBf16), 1) == "153.0");
}

TEST_CASE("S0-07: decoding one sequence leaves an RTX 2080 Ti's tensor cores idle for 98.8 to 98.9 %") {
  const double idle = 1 - utilisation(qwen_on_turing().bound(decode_step(1, 1)));
  CHECK(idle > 0.988);
  CHECK(idle < 0.989);
}

TEST_CASE("S0-09: decode steps of 5.064 to 17.218 ms on an RTX 2080 Ti, all bound by memory") {
  const auto ms = [](double batch) { return printed(1e3 * turing_decode_s(batch, 1024), 3); };
  CHECK(ms(1) == "5.064");
  CHECK(ms(4) == "5.207");
  CHECK(ms(16) == "5.779");
  CHECK(ms(64) == "8.067");
  CHECK(ms(128) == "11.117");
  CHECK(ms(256) == "17.218");
  for (const double batch : {1.0, 4.0, 16.0, 64.0, 128.0, 256.0}) {
    CHECK(qwen().decode_flops(batch, 1024) / kTuringPeak < qwen().decode_bytes(batch, 1024) / kTuringBandwidth);
  }
}

TEST_CASE("S0-10: 16 sequences give 14.02 times the tokens of one") {
  CHECK(std::abs(16 * turing_decode_s(1, 1024) / turing_decode_s(16, 1024) - 14.02) < 0.01);
}

TEST_CASE("S0-12: decode attention does as many FLOPs a byte as query heads share a KV head: 6, 4 and 1") {
  const auto shared = [](const char* name) {
    const StepWork work(shipped_model(name), {}, 1);
    const StepWork::AttentionKind& cost = work.attention_kinds().at(0);
    return cost.decode_flops_per_key / cost.kv_bytes_per_token;
  };
  CHECK(shared("qwen2.5-1.5b") == 6);
  CHECK(shared("llama-3.1-8b") == 4);
  CHECK(shared("llama-2-7b") == 1);
}

TEST_CASE("S0-13: 64 sequences have an intensity of 41.94, 22.84 and 8.82 at 1024, 4096 and 32768; 60.13 GB of KV") {
  CHECK(printed(decode_intensity(64, 1024), 2) == "41.94");
  CHECK(printed(decode_intensity(64, 4096), 2) == "22.84");
  CHECK(printed(decode_intensity(64, 32'768), 2) == "8.82");
  CHECK(printed(gb(kv_bytes(shipped_model("qwen2.5-1.5b"), DType::kFp16, Tokens{64 * 32'768})), 2) == "60.13");
}

TEST_CASE("S0-14: weights r times smaller speed up decode by less than r, up to r without context, and prefill not") {
  const RooflineModel half = qwen_on_turing();
  const RooflineModel quarter = qwen_on_turing(DType::kInt4);
  Dtypes dtypes;
  dtypes.weights = DType::kInt4;
  const ModelShape model = shipped_model("qwen2.5-1.5b");
  const double r = gb(weight_bytes(model, {})) / gb(weight_bytes(model, dtypes));
  const auto gain = [&](const StepShape& shape) {
    return half.bound(shape).seconds() / quarter.bound(shape).seconds();
  };
  CHECK(gain(decode_step(1, 1)) < r);
  CHECK(gain(decode_step(1, 1)) > 0.999 * r);
  CHECK(gain(decode_step(1, 4096)) < gain(decode_step(1, 1)));
  CHECK(gain(decode_step(64, 4096)) < gain(decode_step(1, 4096)));
  const PrefillChunk chunk{Tokens{2048}, Tokens{0}};
  CHECK(gain(prefill_step(chunk)) <= 1);
}

TEST_CASE("S0-15: prefills of 128, 512, 2048 and 8192 tokens have intensities 127.9, 515.2, 2117.9 and 9324.8") {
  const auto intensity = [](double tokens) {
    return printed(qwen().prefill_flops(tokens) / qwen().prefill_bytes(tokens), 1);
  };
  CHECK(intensity(128) == "127.9");
  CHECK(intensity(512) == "515.2");
  CHECK(intensity(2048) == "2117.9");
  CHECK(intensity(8192) == "9324.8");
}

TEST_CASE("S0-16: weights and KV over the predicted time never pass the device's bandwidth") {
  RooflineModel roofline = qwen_on_turing();
  for (const std::int64_t batch : {1, 4, 16, 64, 256}) {
    for (const std::int64_t context : {128, 1024, 8192}) {
      const StepShape shape = decode_step(batch, context);
      Work sum;
      for (const Operator& op : roofline.work().operators(shape)) sum += op.total();
      CAPTURE(batch);
      CAPTURE(context);
      CHECK((sum.weight_bytes + sum.kv_bytes) / seconds(roofline.cost(shape).device) <= kTuringBandwidth);
    }
  }
}

TEST_CASE("S0-17: prefill is faster than decoding one sequence by the ridge at most: 17.2k against 197 tokens/s") {
  const double prefill = 512 / (qwen().prefill_flops(512) / kTuringPeak);
  const double decode = 1 / turing_decode_s(1, 1024);
  CHECK(printed(prefill / 1e3, 1) == "17.2");
  CHECK(printed(decode, 0) == "197");
  CHECK(prefill / decode <= shipped_device("rtx-2080-ti").ridge(DType::kFp16));
  const RooflineModel roofline = qwen_on_turing();
  // Without the LM head, which a prefill pays once and a decode step each time.
  StepShape one = decode_step(1, 1);
  one.sampled_rows = 0;
  for (const std::int64_t tokens : {128, 512, 2048, 8192}) {
    const PrefillChunk chunk{Tokens{tokens}, Tokens{0}};
    StepShape prompt = prefill_step(chunk);
    prompt.sampled_rows = 0;
    const double ratio = real(tokens) * roofline.bound(one).seconds() / roofline.bound(prompt).seconds();
    CHECK(ratio <= shipped_device("rtx-2080-ti").ridge(DType::kFp16));
  }
}

TEST_CASE("S0-18: 100 users give 82.9, 54.9 and 23.8 times the tokens of one at contexts of 256, 1024 and 4096") {
  const auto gain = [](double context) {
    return printed(100 * llama().decode_bytes(1, context) / llama().decode_bytes(100, context), 1);
  };
  CHECK(gain(256) == "82.9");
  CHECK(gain(1024) == "54.9");
  CHECK(gain(4096) == "23.8");
}

TEST_CASE("S0-25: with the memory full an A100-80 decodes 2949.5, 368.7 and 90.5 tokens/s: 8.00 and 32.60 times less") {
  const DeviceSheet device = shipped_device("a100-80g-sxm");
  const MemoryPlan plan = plan_of(shipped_model("llama-3.1-8b"), device.memory.count());
  const auto tokens_per_s = [&](std::int64_t context) {
    const double batch = std::floor(plan.sequences_at(Tokens{context}));
    return batch / roofline_seconds(llama().decode_flops(batch, real(context)),
                                    llama().decode_bytes(batch, real(context)), device.peak_of(DType::kBf16),
                                    device.bytes_per_second);
  };
  CHECK(printed(tokens_per_s(4096), 1) == "2949.5");
  CHECK(printed(tokens_per_s(32'768), 1) == "368.7");
  CHECK(printed(tokens_per_s(131'072), 1) == "90.5");
  CHECK(printed(tokens_per_s(4096) / tokens_per_s(32'768), 2) == "8.00");
  CHECK(printed(tokens_per_s(4096) / tokens_per_s(131'072), 2) == "32.60");
}

TEST_CASE("S0-29: KIVI's throughput gain is below its gain in batch") {
  const ModelShape model = shipped_model("llama-2-7b");
  const DeviceSheet device = shipped_device("a100-80g-sxm");
  Dtypes small;
  small.kv = DType::kKivi2;
  const auto at = [&](const Dtypes& dtypes) {
    const std::int64_t batch = whole(plan_of(model, device.memory.count(), dtypes).sequences_at(Tokens{2048}));
    RooflineModel roofline(model, device, dtypes);
    return std::pair{real(batch), real(batch) / seconds(roofline.cost(decode_step(batch, 2048)).device)};
  };
  const auto [half_batch, half_rate] = at({});
  const auto [small_batch, small_rate] = at(small);
  CHECK(small_batch > half_batch);
  CHECK(small_rate > half_rate);
  CHECK(small_rate / half_rate <= small_batch / half_batch);
}

TEST_CASE("S0-60: 131,072 tokens of context double the bytes of a decode step: 2.070 times none, 2.00 times 4096") {
  const double far = llama().decode_bytes(1, 131'072);
  CHECK(printed(far / llama().decode_bytes(1, 0), 3) == "2.070");
  // 2.002 comes from gigabytes rounded to two digits, (16.06 + 17.18) / (16.06 + 0.54); exactly it is 2.003.
  const auto rounded = [](double bytes) { return std::stod(printed(bytes / kGb, 2)); };
  const double kv = llama().kv_bytes_per_token;
  const double weights = rounded(llama().weight_bytes);
  CHECK(printed((weights + rounded(kv * 131'072)) / (weights + rounded(kv * 4096)), 3) == "2.002");
  CHECK(printed(far / llama().decode_bytes(1, 4096), 3) == "2.003");
  CHECK(printed(llama().kv_bytes_per_token * 4096 / kGb, 2) == "0.54");
  CHECK(printed(llama().kv_bytes_per_token * 131'072 / kGb, 0) == "17");
  CHECK(printed(llama().weight_bytes / kGb, 0) == "16");
}

TEST_CASE("S0-62: a token costs 4.56, 3.43 and 2.60 times as many GPU-seconds to write as to read") {
  const DeviceSheet device = shipped_device("a100-80g-sxm");
  const double peak = 0.5 * device.peak_of(DType::kBf16);
  const double bandwidth = 0.8 * device.bytes_per_second;
  const double read =
      roofline_seconds(llama().prefill_flops(2048), llama().prefill_bytes(2048), peak, bandwidth) / 2048;
  const auto write_over_read = [&](double batch, double context) {
    const double step =
        roofline_seconds(llama().decode_flops(batch, context), llama().decode_bytes(batch, context), peak, bandwidth);
    return printed(step / batch / read, 2);
  };
  CHECK(write_over_read(104, 4096) == "4.56");
  CHECK(write_over_read(64, 2048) == "3.43");
  CHECK(write_over_read(128, 2048) == "2.60");
}

TEST_CASE("S0-51: prefill attention reaches 50 to 73 % of an A100's peak, at most 74.8 % of an H100's") {
  const ModelShape model = shipped_model("llama-3.1-8b");
  const auto share = [&](const char* name, std::int64_t tokens) {
    const DeviceSheet device = shipped_device(name);
    const RooflineModel roofline(model, device, {});
    const PrefillChunk chunk{Tokens{tokens}, Tokens{0}};
    const Operator op = roofline.work().prefill_attention(0, {&chunk, 1});
    return op.total().flops / roofline.seconds(op) / device.peak_of(DType::kBf16);
  };
  const double best = 740e12 / shipped_device("h100-sxm").peak_of(DType::kBf16);
  CHECK(printed(best, 3) == "0.748");
  // Lengths that the papers measure.
  for (const std::int64_t tokens : {4096, 8192, 16'384}) {
    CAPTURE(tokens);
    CHECK(share("a100-80g-sxm", tokens) >= 0.50);
    CHECK(share("a100-80g-sxm", tokens) <= 0.73);
    CHECK(share("h100-sxm", tokens) <= best);
  }
}

TEST_CASE("S2-05: 140 GB of weights over eight A100-80 take at least 8.6 ms") {
  const DeviceSheet device = shipped_device("a100-80g-sxm");
  ClosedForm rounded;
  rounded.weight_bytes = 141e9;
  CHECK(printed(1e3 * rounded.decode_bytes(1, 0) / (8 * device.bytes_per_second), 1) == "8.6");
  // The operators do not read the rows of the embedding that no token asks for: 2.1 GB.
  RooflineModel roofline(shipped_model("llama-3-70b"), device, {}, 8);
  const double bound = roofline.bound(decode_step(1, 1)).seconds();
  CHECK(bound == doctest::Approx((141.1e9 - 2.1e9) / (8 * device.bytes_per_second)).epsilon(0.002).scale(0));
  CHECK(seconds(roofline.cost(decode_step(1, 1)).device) > bound);
}

TEST_CASE("S2-17: an attention kernel 20 to 26 % slower slows the step by its share only") {
  DeviceSheet device = shipped_device("a100-40g-sxm");
  const ModelShape model = shipped_model("opt-13b");
  const auto step_s = [&](double slower) {
    DeviceSheet sheet = device;
    Curve& curve = sheet.efficiency.decode_attention;
    curve.launch_s *= slower;
    curve.row_s *= slower;
    curve.compute /= slower;
    curve.memory /= slower;
    RooflineModel roofline(model, sheet, published_dtypes(model));
    return seconds(roofline.cost(decode_step(30, 330)).device);
  };
  for (const double slower : {1.20, 1.26}) {
    CHECK(step_s(slower) > step_s(1));
    CHECK(step_s(slower) < (1 + (slower - 1) / 2) * step_s(1));
  }
}

TEST_CASE("S2-37: below a tenth of the ridge decoding uses less than a tenth of the peak") {
  const DeviceSheet device = shipped_device("a100-80g-sxm");
  const RooflineModel roofline(shipped_model("llama-3.1-8b"), device, {});
  const auto most = static_cast<std::int64_t>(0.1 * device.ridge(DType::kBf16));
  for (const std::int64_t context : {1, 1024, 4096, 32'768}) {
    CHECK(utilisation(roofline.bound(decode_step(most, context))) < 0.1);
  }
}

TEST_CASE("S2-38: eight H100 decode one sequence of 70B at 0.339 % of their peak, not at 1 to 5 %") {
  const DeviceSheet device = shipped_device("h100-sxm");
  CHECK(printed(100 / device.ridge(DType::kBf16), 3) == "0.339");
  const RooflineModel roofline(shipped_model("llama-3-70b"), device, {}, 8);
  CHECK(printed(100 * utilisation(roofline.bound(decode_step(1, 1))), 3) == "0.339");
}

TEST_CASE("B.8: at 72 to 80 % of the bandwidth three published decode steps on eight H100 come out within 10 %") {
  const double bandwidth = 8 * shipped_device("h100-sxm").bytes_per_second;
  struct Measured {
    double batch, context, ms;
  };
  for (const Measured& run :
       {Measured{128, 32'000, 26.07}, Measured{41, 100'000, 25.83}, Measured{64, 32'000, 14.84}}) {
    const double at_76 = 1e3 * llama().decode_bytes(run.batch, run.context) / (0.76 * bandwidth);
    CHECK(at_76 == doctest::Approx(run.ms).epsilon(0.10).scale(0));
  }
}
