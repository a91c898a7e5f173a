#include "costmodel/model_config.hpp"

#include <filesystem>
#include <map>

#include "costmodel/architectures.hpp"
#include "sim/error.hpp"

namespace servecast {
namespace {

struct Family {
  ArchitectureReader read;
  bool tied_by_default;  // what transformers assumes where tie_word_embeddings is absent
};

const std::map<std::string, Family>& families() {
  static const std::map<std::string, Family> kKnown{{"deepseek_v2", {read_deepseek, false}},
                                                    {"deepseek_v3", {read_deepseek, false}},
                                                    {"falcon", {read_falcon, true}},
                                                    {"gemma", {read_gemma, true}},
                                                    {"gemma2", {read_gemma2, true}},
                                                    {"gemma3", {read_gemma3, true}},
                                                    {"gemma3_text", {read_gemma3, true}},
                                                    {"gemma4", {read_gemma4, true}},
                                                    {"gemma4_text", {read_gemma4, true}},
                                                    {"gpt2", {read_gpt2, true}},
                                                    {"gpt_oss", {read_gpt_oss, false}},
                                                    {"kimi_k2", {read_deepseek, false}},
                                                    {"llama", {read_llama, false}},
                                                    {"llama4", {read_llama4, false}},
                                                    {"llama4_text", {read_llama4, false}},
                                                    {"minimax_m2", {read_minimax_m2, false}},
                                                    {"mistral", {read_mistral, false}},
                                                    {"mixtral", {read_mixtral, false}},
                                                    {"opt", {read_opt, true}},
                                                    {"phi3", {read_phi3, false}},
                                                    {"phimoe", {read_phimoe, false}},
                                                    {"qwen2", {read_qwen2, false}},
                                                    {"qwen2_moe", {read_qwen2_moe, false}},
                                                    {"qwen3", {read_qwen3, false}},
                                                    {"qwen3_moe", {read_qwen3_moe, false}}};
  return kKnown;
}

DType read_published_dtype(const ConfigFields& config, DType otherwise) {
  for (const char* name : {"dtype", "torch_dtype"}) {
    if (config.has(name)) return parse_dtype(config.text(name), {config.file(), 0, name});
  }
  return otherwise;
}

DType read_integer_bits(const ConfigFields& quantization) {
  const std::int64_t bits = quantization.integer("bits");
  if (bits == 4) return DType::kInt4;
  if (bits == 8) return DType::kInt8;
  quantization.fail("bits", "is " + std::to_string(bits) + ", only 4 and 8 are known");
}

// The formats the checkpoint is published in. MXFP4 checkpoints quantise experts only.
void read_formats(const ConfigFields& config, ModelShape& model) {
  if (!config.has("quantization_config")) return;
  const ConfigFields quantization = config.object("quantization_config");
  const std::string method = quantization.text("quant_method");
  if (method == "mxfp4") {
    model.expert_dtype = DType::kMxfp4;
    return;
  }
  if (method == "fp8") {
    model.weight_dtype = DType::kFp8;
  } else if (method == "awq" || method == "gptq") {
    model.weight_dtype = read_integer_bits(quantization);
  } else {
    quantization.fail("quant_method", "'" + method + "' is not known", "known: fp8, mxfp4, awq, gptq");
  }
  model.expert_dtype = model.weight_dtype;
}

// Exact counts need products below 2^63; far below, no such model exists.
constexpr double kMostParameters = 1e15;

double roughly(const ModelShape& model) {
  const auto real = [](std::int64_t value) { return static_cast<double>(value); };
  double total = 2 * real(model.vocab + model.positions) * real(model.hidden);
  for (const Layer& layer : model.layers) {
    const Attention& attention = model.attentions[layer.attention];
    const FeedForward& part = model.feed_forwards[layer.feed_forward];
    double columns = 4 * real(attention.query_heads) * real(attention.head_dim) + 3 * real(part.width);
    if (attention.latent) {
      const LatentAttention& latent = *attention.latent;
      const double rank = real(latent.kv_rank + latent.query_rank);
      total += rank * real(attention.query_heads) * real(attention.head_dim + latent.value_dim);
      columns += rank + real(attention.query_heads) * real(latent.value_dim);
    }
    if (part.experts)
      columns += 3 * (real(part.experts->count) * real(part.experts->width) + real(part.experts->shared_width));
    total += columns * real(model.hidden);
  }
  return total * (1 + real(model.mtp.count));
}

ModelShape read_model(const ConfigFields& config, const std::string& name) {
  const std::string architecture = config.text("model_type");
  const auto family = families().find(architecture);
  if (family == families().end()) {
    config.fail("model_type", "architecture '" + architecture + "' is not supported",
                suggest(architecture, supported_architectures()));
  }
  // Multimodal configs keep the language model in text_config; what they keep beside it costs no decode time.
  const bool nested = config.has("text_config");
  const ConfigFields text = nested ? config.object("text_config") : config;
  ModelShape model;
  model.name = name;
  model.architecture = architecture;
  model.vocab = text.integer("vocab_size");
  model.tied =
      text.flag_or("tie_word_embeddings", config.flag_or("tie_word_embeddings", family->second.tied_by_default));
  model.max_positions = Tokens{text.integer_or("max_position_embeddings", 0)};
  model.weight_dtype = read_published_dtype(text, read_published_dtype(config, DType::kBf16));
  model.expert_dtype = model.weight_dtype;
  if (nested) model.caveats.emplace_back("only the language model is counted, not its vision or audio parts");
  family->second.read(text, model);
  if (roughly(model) > kMostParameters)
    throw InputError({config.file(), 0, {}}, "describes more than 10^15 parameters");
  read_formats(config, model);
  return model;
}

}  // namespace

ModelShape load_model(const std::string& path) {
  return read_model(ConfigFields::read(path), std::filesystem::path(path).stem().string());
}

ModelShape parse_model(std::string_view config_json, const std::string& name) {
  return read_model(ConfigFields::parse(config_json, name), name);
}

std::vector<std::string> supported_architectures() {
  std::vector<std::string> names;
  for (const auto& [name, family] : families()) names.push_back(name);
  return names;
}

}  // namespace servecast
