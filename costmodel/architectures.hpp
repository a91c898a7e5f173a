// One reader per family of architectures: from config fields to the layers of ModelShape. The common fields
// (name, vocabulary, number formats) are filled in by model_config.cpp.
#pragma once

#include "costmodel/config_fields.hpp"
#include "costmodel/model.hpp"

namespace servecast {

using ArchitectureReader = void (*)(const ConfigFields&, ModelShape&);

void read_llama(const ConfigFields& config, ModelShape& model);
void read_mistral(const ConfigFields& config, ModelShape& model);
void read_qwen2(const ConfigFields& config, ModelShape& model);
void read_qwen3(const ConfigFields& config, ModelShape& model);
void read_phi3(const ConfigFields& config, ModelShape& model);

void read_mixtral(const ConfigFields& config, ModelShape& model);
void read_qwen2_moe(const ConfigFields& config, ModelShape& model);
void read_qwen3_moe(const ConfigFields& config, ModelShape& model);
void read_phimoe(const ConfigFields& config, ModelShape& model);
void read_minimax_m2(const ConfigFields& config, ModelShape& model);
void read_gpt_oss(const ConfigFields& config, ModelShape& model);
void read_llama4(const ConfigFields& config, ModelShape& model);

void read_deepseek(const ConfigFields& config, ModelShape& model);

void read_gemma(const ConfigFields& config, ModelShape& model);
void read_gemma2(const ConfigFields& config, ModelShape& model);
void read_gemma3(const ConfigFields& config, ModelShape& model);
void read_gemma4(const ConfigFields& config, ModelShape& model);

void read_opt(const ConfigFields& config, ModelShape& model);
void read_gpt2(const ConfigFields& config, ModelShape& model);
void read_falcon(const ConfigFields& config, ModelShape& model);

// Shared by the readers.

// hidden_size, heads and head_dim (given, else hidden / heads), checked against each other; no window, no biases.
[[nodiscard]] Attention read_grouped_attention(const ConfigFields& config, const ModelShape& model);
// Elements of the biases of q, k and v.
[[nodiscard]] std::int64_t qkv_biases(const Attention& attention);
// num_hidden_layers; at most 1024.
[[nodiscard]] std::int64_t read_layer_count(const ConfigFields& config);
// RMS norms: `norms` vectors of `hidden` per layer and a last one.
void set_rms_norms(ModelShape& model, std::int64_t norms);
// Per layer: whether layer_types says it slides. Empty when the config has no such list; other kinds are refused.
[[nodiscard]] std::vector<bool> sliding_layers(const ConfigFields& config, std::int64_t layers);
// The number of experts a token uses, at most `count`.
[[nodiscard]] std::int64_t read_experts_per_token(const ConfigFields& config, const char* name, std::int64_t count);

}  // namespace servecast
