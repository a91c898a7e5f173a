// Bytes of weights and of KV cache.
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "tests/figures/figure.hpp"

using namespace servecast;
using namespace servecast::figures;

namespace {

struct Row {
  std::string model;
  std::int64_t kv_bytes;
  std::string kib, gib_at_128k;
};

std::int64_t kv_bytes_of(const std::string& name) {
  return kv_bytes(shipped_model(name), DType::kBf16, Tokens{1}).count();
}

// Bytes of one token in one layer.
std::int64_t layer_bytes(const Attention& part, DType kv = DType::kBf16) { return kv_bits_per_token(part, kv) / 8; }

Attention heads(std::int64_t query, std::int64_t kv) {
  Attention part;
  part.query_heads = query;
  part.kv_heads = kv;
  part.head_dim = 128;
  return part;
}

ModelShape with_kv_heads(ModelShape model, std::int64_t kv_heads) {
  for (Attention& part : model.attentions) part.kv_heads = kv_heads;
  return model;
}

}  // namespace

TEST_CASE("S0-02: 1.54e9 parameters cost 3.08e9 FLOPs a token and 3.08e9 bytes in fp16") {
  ClosedForm form;
  form.parameters = 1.54e9;
  CHECK(form.decode_flops(1, 0) == 3.08e9);
  CHECK(packed_bytes(1'540'000'000, DType::kFp16) == Bytes{3'080'000'000});
}

TEST_CASE("S0-08: Qwen2.5-1.5B has 1.54 B parameters, 3.09 GB, 28 layers, 12 and 2 heads of 128 and 28 KiB a token") {
  const ModelShape model = shipped_model("qwen2.5-1.5b");
  CHECK(printed(real(count_parameters(model).total) / 1e9, 2) == "1.54");
  CHECK(printed(gb(weight_bytes(model, {})), 2) == "3.09");
  CHECK(model.layer_count() == 28);
  REQUIRE(model.attentions.size() == 1);
  CHECK(model.attentions[0].query_heads == 12);
  CHECK(model.attentions[0].kv_heads == 2);
  CHECK(model.attentions[0].head_dim == 128);
  CHECK(kv_bytes(model, DType::kBf16, Tokens{1}) == Bytes{28'672});
}

TEST_CASE("S0-19: a token's KV takes 2 x layers x KV heads x head size x bytes, or a latent and a rotary key") {
  const std::vector<Row> rows{
      {"llama-3.1-8b", 131'072, "128.0", "16.00"}, {"llama-2-7b", 524'288, "512.0", "64.00"},
      {"qwen2.5-7b", 57'344, "56.0", "7.00"},      {"mistral-7b-v0.3", 131'072, "128.0", "16.00"},
      {"qwen2.5-1.5b", 28'672, "28.0", "3.50"},    {"deepseek-v3", 70'272, "68.6", "8.58"},
      {"deepseek-v2", 69'120, "67.5", "8.44"},     {"llama-3-70b", 327'680, "320.0", "40.00"},
      {"llama-2-70b", 327'680, "320.0", "40.00"},  {"opt-13b", 819'200, "800.0", "100.00"}};
  for (const Row& row : rows) {
    CAPTURE(row.model);
    const ModelShape model = shipped_model(row.model);
    const Bytes one = kv_bytes(model, DType::kFp16, Tokens{1});
    CHECK(one == Bytes{row.kv_bytes});
    CHECK(printed(real(one.count()) / 1024, 1) == row.kib);
    CHECK(printed(gib(kv_bytes(model, DType::kFp16, Tokens{131'072})), 2) == row.gib_at_128k);
  }
}

TEST_CASE("S0-20: OPT-13B takes 819,200 bytes a token, and 1.678 GB = 1.5625 GiB for 2048 tokens") {
  CHECK(kv_bytes_of("opt-13b") == 819'200);
  const Bytes bytes = kv_bytes(shipped_model("opt-13b"), DType::kFp16, Tokens{2048});
  CHECK(bytes == Bytes{1'677'721'600});
  CHECK(printed(gb(bytes), 3) == "1.678");
  CHECK(gib(bytes) == 1.5625);
}

TEST_CASE("S0-21: weights of 15.0, 12.6, 14.2, 13.5 and 1275.0 GiB; DeepSeek-V3 with its prediction module") {
  const auto weights = [](const char* name) { return printed(gib(weight_bytes(shipped_model(name), {})), 1); };
  CHECK(weights("llama-3.1-8b") == "15.0");
  CHECK(weights("llama-2-7b") == "12.6");
  CHECK(weights("qwen2.5-7b") == "14.2");
  CHECK(weights("mistral-7b-v0.3") == "13.5");
  CHECK(weights("deepseek-v3") == "1249.9");
  const Bytes with_module = weight_bytes(shipped_model("deepseek-v3"), {}, {.mtp_modules = true});
  CHECK(printed(gib(with_module), 1) == "1275.0");
}

TEST_CASE("F2: DeepSeek-V3's 1275.0 GiB are 684.5 B parameters; the 671 B leave its prediction module out") {
  const ParameterCounts counts = count_parameters(shipped_model("deepseek-v3"));
  CHECK(counts.total == 671'026'404'352);
  CHECK(printed(real(counts.total + counts.mtp) / 1e9, 1) == "684.5");
}

TEST_CASE("S0-31: Llama 3 has 8 KV heads in all its sizes") {
  for (const char* name : {"llama-3-8b", "llama-3-70b", "llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b"}) {
    CAPTURE(name);
    const ModelShape model = shipped_model(name);
    REQUIRE(model.attentions.size() == 1);
    CHECK(model.attentions[0].kv_heads == 8);
  }
}

TEST_CASE("S0-32: latent attention caches 512 + 64 elements, as many as 2.25 groups of 128") {
  const ModelShape model = shipped_model("deepseek-v2");
  REQUIRE(model.attentions.size() == 1);
  CHECK(layer_bytes(model.attentions[0]) == 2 * (512 + 64));
  CHECK(real(layer_bytes(model.attentions[0])) / real(layer_bytes(heads(1, 1))) == 2.25);
}

TEST_CASE("S0-61: a window of 4 + 1020 tokens caps Llama-2-7B's cache at 0.500 GiB, whatever the length") {
  ModelShape model = shipped_model("llama-2-7b");
  for (Attention& part : model.attentions) part.window = Tokens{4 + 1020};
  for (const std::int64_t length : {1024, 4096, 131'072, 4'000'000}) {
    CHECK(gib(kv_bytes_windowed(model, DType::kFp16, Tokens{length})) == 0.5);
  }
}

TEST_CASE("S2-01: elements of 2, 1 and half a byte; an odd number of them keeps the half") {
  const ModelShape model = shipped_model("llama-2-7b");
  const std::int64_t elements = 2 * 32 * 32 * 128;
  CHECK(kv_bytes(model, DType::kFp16, Tokens{4096}) == Bytes{2 * elements * 4096});
  CHECK(kv_bytes(model, DType::kFp8, Tokens{4096}) == Bytes{elements * 4096});
  CHECK(kv_bytes(model, DType::kInt8, Tokens{4096}) == Bytes{elements * 4096});
  CHECK(kv_bytes(model, DType::kInt4, Tokens{4096}) == Bytes{elements / 2 * 4096});
  // Latent attention with an odd rank: 5 elements a token are 2.5 bytes, 3 tokens 7.5.
  Attention odd;
  odd.latent = LatentAttention{.query_rank = 0, .kv_rank = 3, .rope_dim = 2, .nope_dim = 2, .value_dim = 2};
  ModelShape one_layer;
  one_layer.add_layer(odd, {});
  CHECK(kv_bytes(one_layer, DType::kInt4, Tokens{2}) == Bytes{5});
  CHECK(kv_bytes(one_layer, DType::kInt4, Tokens{3}) == Bytes{8});
}

TEST_CASE("S2-02: at 4096 tokens 2.000, 10.000, 1.250 and 0.2637 GiB, the last 0.2831 GB") {
  const auto at_4096 = [](const ModelShape& model) { return kv_bytes(model, DType::kFp16, Tokens{4096}); };
  CHECK(printed(gib(at_4096(shipped_model("llama-2-7b"))), 3) == "2.000");
  CHECK(printed(gib(at_4096(with_kv_heads(shipped_model("llama-2-70b"), 64))), 3) == "10.000");
  CHECK(printed(gib(at_4096(shipped_model("llama-2-70b"))), 3) == "1.250");
  CHECK(printed(gib(at_4096(shipped_model("deepseek-v2"))), 4) == "0.2637");
  CHECK(printed(gb(at_4096(shipped_model("deepseek-v2"))), 4) == "0.2831");
}

TEST_CASE("S2-11: K and V project with 2 D x D parameters, 2 D x d with one head, 2 G D x d with G; 8 times fewer") {
  const ModelShape model = shipped_model("llama-2-70b");
  const std::int64_t width = model.hidden;
  const auto keys_and_values = [&](std::int64_t kv_heads) {
    return attention_matrices(model, heads(64, kv_heads)) - 2 * width * width;  // without queries and output
  };
  CHECK(keys_and_values(64) == 2 * width * width);
  CHECK(keys_and_values(1) == 2 * width * 128);
  CHECK(keys_and_values(8) == 2 * 8 * width * 128);
  CHECK(keys_and_values(64) == 8 * keys_and_values(8));
}

TEST_CASE("S2-12: a latent is 64.0 times smaller than the keys and values of 128 heads, 56.89 with its rotary key") {
  Attention latent = shipped_model("deepseek-v2").attentions[0];
  const double full = real(layer_bytes(heads(128, 128)));
  CHECK(printed(full / real(layer_bytes(latent)), 2) == "56.89");
  latent.latent->rope_dim = 0;
  CHECK(printed(full / real(layer_bytes(latent)), 1) == "64.0");
}

TEST_CASE("S2-13: 576 elements are 1/3.556 of 8 groups', 1/28.44 of 64 heads', 98.2 % less than 128 heads'") {
  const double latent = real(layer_bytes(shipped_model("deepseek-v2").attentions[0]));
  const double groups = real(layer_bytes(heads(64, 8)));
  const double all = real(layer_bytes(heads(64, 64)));
  CHECK(latent / 2 == 576);
  CHECK(groups / 2 == 2048);
  CHECK(all / 2 == 16'384);
  CHECK(printed(groups / latent, 3) == "3.556");
  CHECK(printed(all / latent, 2) == "28.44");
  CHECK(printed(100 * (1 - latent / all), 1) == "96.5");
  CHECK(printed(100 * (1 - latent / real(layer_bytes(heads(128, 128)))), 1) == "98.2");
}

TEST_CASE("F16: a decoupled rotary key adds 12.5 % to the latent; 70B with 8 groups takes 4.74 times DeepSeek-V2") {
  Attention latent = shipped_model("deepseek-v2").attentions[0];
  const double with_key = real(layer_bytes(latent));
  latent.latent->rope_dim = 0;
  CHECK(with_key / real(layer_bytes(latent)) == 1.125);
  CHECK(printed(real(kv_bytes_of("llama-2-70b")) / real(kv_bytes_of("deepseek-v2")), 2) == "4.74");
}

TEST_CASE("S2-34: 32768, 4096, 512, 1152 and 8192 bytes per token and layer; 10, 1.25, .15625, .2637 and 2.5 GiB") {
  const Attention latent = shipped_model("deepseek-v2").attentions[0];
  CHECK(layer_bytes(heads(64, 64)) == 32'768);
  CHECK(layer_bytes(heads(64, 8)) == 4096);
  CHECK(layer_bytes(heads(64, 1)) == 512);
  CHECK(layer_bytes(latent) == 1152);
  CHECK(layer_bytes(heads(64, 64), DType::kInt4) == 8192);
  const ModelShape model = shipped_model("llama-2-70b");  // 80 layers; DeepSeek-V2 has 60
  const auto at_4096 = [&](std::int64_t kv_heads, DType kv) {
    return gib(kv_bytes(with_kv_heads(model, kv_heads), kv, Tokens{4096}));
  };
  CHECK(at_4096(64, DType::kFp16) == 10);
  CHECK(at_4096(8, DType::kFp16) == 1.25);
  CHECK(at_4096(1, DType::kFp16) == 0.15625);
  CHECK(at_4096(64, DType::kInt4) == 2.5);
  CHECK(printed(gib(kv_bytes(shipped_model("deepseek-v2"), DType::kFp16, Tokens{4096})), 4) == "0.2637");
}

TEST_CASE("F4: OPT-66B's 512 tokens take 1.208 GB = 1.125 GiB") {
  const Bytes bytes = kv_bytes(shipped_model("opt-66b"), DType::kFp16, Tokens{512});
  CHECK(printed(gb(bytes), 3) == "1.208");
  CHECK(gib(bytes) == 1.125);
}

TEST_CASE("A.0: parameter counts of the models behind the figures") {
  const std::map<std::string, std::int64_t> totals{
      {"llama-3.1-8b", 8'030'261'248}, {"llama-2-7b", 6'738'415'616},      {"qwen2.5-7b", 7'615'616'512},
      {"qwen2.5-1.5b", 1'543'714'304}, {"mistral-7b-v0.3", 7'248'023'552}, {"deepseek-v3", 671'026'404'352}};
  for (const auto& [name, total] : totals) {
    CAPTURE(name);
    CHECK(count_parameters(shipped_model(name)).total == total);
  }
  CHECK(printed(real(count_parameters(shipped_model("llama-3-70b")).total) / 1e9, 1) == "70.6");
  CHECK(printed(real(count_parameters(shipped_model("llama-2-70b")).total) / 1e9, 3) == "68.977");
  CHECK(printed(gb(weight_bytes(shipped_model("llama-2-70b"), {})), 2) == "137.95");
  CHECK(printed(gb(weight_bytes(shipped_model("llama-3-70b"), {})), 0) == "141");
  CHECK(printed(real(count_parameters(shipped_model("opt-13b")).total) / 1e9, 1) == "12.9");
  CHECK(printed(gb(weight_bytes(shipped_model("opt-13b"), {})), 0) == "26");
}

TEST_CASE("param_counts.csv: all 31 totals, active parameters and KV bytes, from the shipped models") {
  std::ifstream table(SERVECAST_SOURCE_DIR "/../shared/data/models/param_counts.csv");
  if (!table) {
    MESSAGE("skipped: shared/data is absent");
    return;
  }
  // Where the shipped file has a shorter name than the row.
  const std::map<std::string, std::string> names{{"llama-2-7b-hf", "llama-2-7b"},
                                                 {"llama-2-13b-chat-hf", "llama-2-13b-chat"},
                                                 {"llama-2-70b-hf", "llama-2-70b"},
                                                 {"meta-llama-3.1-8b", "llama-3.1-8b"},
                                                 {"meta-llama-3.1-70b", "llama-3.1-70b"},
                                                 {"meta-llama-3.1-405b", "llama-3.1-405b"},
                                                 {"codellama-34b-instruct-hf", "codellama-34b-instruct"},
                                                 {"mistral-nemo-instruct-2407", "mistral-nemo-12b"},
                                                 {"mixtral-8x7b-v0.1", "mixtral-8x7b"},
                                                 {"mixtral-8x22b-v0.1", "mixtral-8x22b"}};
  std::string line;
  std::getline(table, line);
  int rows = 0;
  while (std::getline(table, line)) {
    std::istringstream cells(line);
    std::string name, total, active, kv;
    std::getline(cells, name, ',');
    std::getline(cells, total, ',');
    std::getline(cells, active, ',');
    std::getline(cells, kv, ',');
    if (name.starts_with("reconstructed/")) name.erase(0, 14);
    if (const auto shorter = names.find(name); shorter != names.end()) name = shorter->second;
    CAPTURE(name);
    const ParameterCounts counts = count_parameters(shipped_model(name));
    CHECK(std::to_string(counts.total) == total);
    CHECK(std::to_string(counts.active) == (active.empty() ? total : active));
    CHECK(std::to_string(kv_bytes_of(name)) == kv);
    ++rows;
  }
  CHECK(rows == 31);
}
