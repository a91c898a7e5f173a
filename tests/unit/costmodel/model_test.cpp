#include "costmodel/model.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "costmodel/model_config.hpp"
#include "sim/error.hpp"
#include "tests/unit/costmodel/sample_models.hpp"

using namespace servecast;

namespace {

const std::string kModels = SERVECAST_SOURCE_DIR "/../shared/data/models/";

std::string message_of(const std::string& config) {
  try {
    (void)parse_model(config, "test.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("parameters of well-known models equal the totals of their published checkpoints") {
  for (const SampleModel& sample : sample_models()) {
    CAPTURE(sample.name);
    CHECK(count_parameters(parse_model(sample.config, sample.name)).total == sample.parameters);
  }
}

TEST_CASE("every row of the parameter table comes out exactly") {
  std::ifstream table(kModels + "param_counts.csv");
  if (!table) {
    MESSAGE("skipped: shared/data is absent");
    return;
  }
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
    CAPTURE(name);
    const ModelShape model = load_model(kModels + name + ".json");
    const ParameterCounts counts = count_parameters(model);
    CHECK(std::to_string(counts.total) == total);
    if (!active.empty()) CHECK(std::to_string(counts.active) == active);
    ++rows;
  }
  CHECK(rows == 31);
}

TEST_CASE("every public config at hand is read") {
  if (!std::filesystem::exists(kModels)) {
    MESSAGE("skipped: shared/data is absent");
    return;
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kModels)) {
    if (entry.path().extension() != ".json") continue;
    const ModelShape model = load_model(entry.path().string());
    CAPTURE(model.name);
    const ParameterCounts counts = count_parameters(model);
    CHECK(counts.active <= counts.total);
    CHECK(counts.non_embedding < counts.total);
  }
}

TEST_CASE("non-embedding parameters leave out embedding and head and keep norms") {
  const ParameterCounts counts = count_parameters(parse_model(kLlama31Config, "llama"));
  CHECK(counts.non_embedding == 6'979'588'096);
  CHECK(counts.active == counts.total);
}

TEST_CASE("DeepSeek-V3 holds 671 billion parameters, 684.5 with its prediction module") {
  const ModelShape model = parse_model(kDeepSeekV3Config, "deepseek-v3");
  const ParameterCounts counts = count_parameters(model);
  CHECK(counts.total == 671'026'404'352);
  CHECK(counts.active == 37'552'282'624);
  CHECK(static_cast<double>(2 * (counts.total + counts.mtp)) / 0x1p30 == doctest::Approx(1275.0).epsilon(4e-5));
  CHECK(static_cast<double>(2 * counts.total) / 0x1p30 == doctest::Approx(1249.9).epsilon(4e-5));
}

TEST_CASE("sliding layers follow the pattern of the config") {
  const ModelShape model = parse_model(
      R"({"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_attention_heads": 8,
          "num_hidden_layers": 34, "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 262208,
          "sliding_window": 1024, "sliding_window_pattern": 6})",
      "gemma-3-4b");
  REQUIRE(model.attentions.size() == 2);
  CHECK(model.layers_with_attention(0) == 29);
  CHECK(model.attentions[0].window == Tokens{1024});
  CHECK(model.layers_with_attention(1) == 5);
  CHECK_FALSE(model.attentions[1].window);
  CHECK(model.window() == Tokens{1024});
  CHECK(model.feed_forwards.size() == 1);
}

TEST_CASE("the published number formats are read from the config") {
  CHECK(parse_model(kLlama31Config, "llama").weight_dtype == DType::kBf16);
  const ModelShape deepseek = parse_model(kDeepSeekV3Config, "deepseek-v3");
  CHECK(deepseek.weight_dtype == DType::kFp8);
  CHECK(deepseek.expert_dtype == DType::kFp8);
}

TEST_CASE("an architecture that is not supported is refused by name") {
  const std::string mamba = message_of(R"({"model_type": "mamba2", "vocab_size": 32000})");
  CHECK(contains(mamba, "test.json: model_type: architecture 'mamba2' is not supported"));
  CHECK(contains(mamba, "expected one of: deepseek_v2"));
  CHECK(contains(message_of(R"({"model_type": "lama", "vocab_size": 32000})"), "did you mean 'llama'?"));
}

TEST_CASE("features whose cost is not modelled are refused") {
  const std::string gemma = message_of(
      R"({"model_type": "gemma4", "text_config": {"hidden_size": 1536, "hidden_size_per_layer_input": 256,
          "vocab_size": 262144}})");
  CHECK(contains(gemma, "text_config.hidden_size_per_layer_input: is set to 256"));
  CHECK(contains(message_of(R"({"model_type": "qwen3_moe", "vocab_size": 9, "use_sliding_window": true})"),
                 "use_sliding_window"));
  std::string quantised = kLlama31Config;
  quantised.insert(quantised.size() - 1, R"(, "quantization_config": {"quant_method": "exl2"})");
  CHECK(contains(message_of(quantised), "quantization_config.quant_method: 'exl2' is not known"));
}

TEST_CASE("missing and odd fields are refused with file and field") {
  const auto changed = [](const std::string& from, const std::string& to) {
    std::string config = kLlama31Config;
    return config.replace(config.find(from), from.size(), to);
  };
  CHECK(contains(message_of(changed("\"vocab_size\": 128256,", "")), "test.json: vocab_size: is missing"));
  CHECK(contains(message_of(changed("\"hidden_size\": 4096", "\"hidden_size\": -4096")),
                 "hidden_size: is -4096, must be at least 1"));
  CHECK(contains(message_of(changed("\"hidden_size\": 4096", "\"hidden_size\": 1000000000000000000")),
                 "hidden_size: is 1000000000000000000"));
  CHECK(contains(message_of(changed("\"intermediate_size\": 14336", "\"intermediate_size\": 134217727")), "no error"));
  CHECK(contains(message_of(R"({"model_type": "mixtral", "hidden_size": 100000000, "intermediate_size": 100000000,
                                "num_attention_heads": 100000000, "num_hidden_layers": 1000, "vocab_size": 100000000,
                                "num_local_experts": 100000000, "num_experts_per_tok": 1})"),
                 "test.json: describes more than 10^15 parameters"));
  CHECK(contains(message_of(changed("\"hidden_size\": 4096", "\"hidden_size\": 40.5")), "must be a whole number"));
  CHECK(contains(message_of(changed("\"hidden_size\": 4096", "\"hidden_size\": \"4096\"")), "must be a whole number"));
  CHECK(contains(message_of(changed("\"num_key_value_heads\": 8", "\"num_key_value_heads\": 7")),
                 "num_key_value_heads: must divide num_attention_heads"));
  CHECK(contains(message_of(changed("\"tie_word_embeddings\": false", "\"tie_word_embeddings\": \"no\"")),
                 "tie_word_embeddings: must be true or false"));
  CHECK(contains(message_of("{\n\"model_type\": \"llama\",\n"), "test.json:3: is not valid JSON"));
  CHECK(contains(message_of("[1, 2]"), "must be a JSON object"));
  CHECK(contains(message_of("{\"x\": 1e999}"), "test.json"));
  CHECK_THROWS_AS((void)load_model("/nonexistent/config.json"), InputError);
}

TEST_CASE("heads and widths divide among tensor-parallel ranks, or the model is refused") {
  const ModelShape model = parse_model(kLlama31Config, "llama-3.1-8b");
  const ModelShape rank = shard(model, 4);
  CHECK(rank.attentions[0].query_heads == 8);
  CHECK(rank.attentions[0].kv_heads == 2);
  CHECK(rank.feed_forwards[0].width == 3584);
  CHECK(rank.vocab == 32064);
  CHECK(shard(model, 16).attentions[0].kv_heads == 1);  // 8 heads on 16 ranks: each is held twice
  CHECK_THROWS_WITH_AS((void)shard(model, 3),
                       "tensor_parallel: 3 ranks do not divide the 32 query heads of llama-3.1-8b", InputError);
  CHECK_THROWS_AS((void)shard(model, 0), InputError);
}
