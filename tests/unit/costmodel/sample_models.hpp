// Architecture fields of public models, with the parameter totals of their checkpoints (the metadata of their
// safetensors files, as Hugging Face shows it).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct SampleModel {
  std::string name;
  std::string config;
  std::int64_t parameters;
};

inline const char* const kLlama31Config = R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
  "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256,
  "max_position_embeddings": 131072, "tie_word_embeddings": false, "torch_dtype": "bfloat16"})";

inline const char* const kDeepSeekV3Config = R"({"model_type": "deepseek_v3", "hidden_size": 7168,
  "intermediate_size": 18432, "moe_intermediate_size": 2048, "num_attention_heads": 128, "num_hidden_layers": 61,
  "first_k_dense_replace": 3, "moe_layer_freq": 1, "n_routed_experts": 256, "n_shared_experts": 1,
  "num_experts_per_tok": 8, "num_nextn_predict_layers": 1, "q_lora_rank": 1536, "kv_lora_rank": 512,
  "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280,
  "torch_dtype": "bfloat16", "quantization_config": {"quant_method": "fp8"}})";

inline const char* const kGptOss20bConfig = R"({"model_type": "gpt_oss", "hidden_size": 2880,
  "intermediate_size": 2880, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
  "num_hidden_layers": 24, "num_local_experts": 32, "num_experts_per_tok": 4, "vocab_size": 201088,
  "sliding_window": 128, "attention_bias": true, "quantization_config": {"quant_method": "mxfp4"},
  "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention",
    "sliding_attention", "full_attention", "sliding_attention", "full_attention",
    "sliding_attention", "full_attention", "sliding_attention", "full_attention",
    "sliding_attention", "full_attention", "sliding_attention", "full_attention",
    "sliding_attention", "full_attention", "sliding_attention", "full_attention",
    "sliding_attention", "full_attention", "sliding_attention", "full_attention"]})";

inline std::vector<SampleModel> sample_models() {
  return {
      {"llama-3.1-8b", kLlama31Config, 8'030'261'248},
      {"qwen2.5-7b",
       R"({"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_attention_heads": 28,
           "num_hidden_layers": 28, "num_key_value_heads": 4, "vocab_size": 152064, "use_sliding_window": false,
           "sliding_window": 131072, "tie_word_embeddings": false})",
       7'615'616'512},
      {"qwen3-0.6b",
       R"({"model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 3072, "num_attention_heads": 16,
           "num_hidden_layers": 28, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
           "tie_word_embeddings": true})",
       596'049'920},
      {"mixtral-8x7b",
       R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
           "num_hidden_layers": 32, "num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2,
           "vocab_size": 32000, "sliding_window": null})",
       46'702'792'704},
      {"gemma-2b",
       R"({"model_type": "gemma", "hidden_size": 2048, "intermediate_size": 16384, "num_attention_heads": 8,
           "num_hidden_layers": 18, "num_key_value_heads": 1, "head_dim": 256, "vocab_size": 256000})",
       2'506'172'416},
      {"gemma-2-9b",
       R"({"model_type": "gemma2", "hidden_size": 3584, "intermediate_size": 14336, "num_attention_heads": 16,
           "num_hidden_layers": 42, "num_key_value_heads": 8, "head_dim": 256, "vocab_size": 256000,
           "sliding_window": 4096})",
       9'241'705'984},
      {"phi-3-mini",
       R"({"model_type": "phi3", "hidden_size": 3072, "intermediate_size": 8192, "num_attention_heads": 32,
           "num_hidden_layers": 32, "num_key_value_heads": 32, "vocab_size": 32064, "sliding_window": 2047})",
       3'821'079'552},
      {"qwen1.5-moe-a2.7b",
       R"({"model_type": "qwen2_moe", "hidden_size": 2048, "intermediate_size": 5632, "moe_intermediate_size": 1408,
           "shared_expert_intermediate_size": 5632, "num_attention_heads": 16, "num_hidden_layers": 24,
           "num_key_value_heads": 16, "num_experts": 60, "num_experts_per_tok": 4, "decoder_sparse_step": 1,
           "vocab_size": 151936, "use_sliding_window": false})",
       14'315'784'192},
      {"falcon-7b",
       R"({"model_type": "falcon", "hidden_size": 4544, "num_attention_heads": 71, "num_hidden_layers": 32,
           "multi_query": true, "parallel_attn": true, "new_decoder_architecture": false, "bias": false,
           "vocab_size": 65024})",
       6'921'720'704},
      {"gpt-oss-20b", kGptOss20bConfig, 20'914'757'184},
      {"gpt2",
       R"({"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024,
           "vocab_size": 50257})",
       124'439'808},
      {"opt-125m",
       R"({"model_type": "opt", "hidden_size": 768, "ffn_dim": 3072, "num_attention_heads": 12,
           "num_hidden_layers": 12, "max_position_embeddings": 2048, "word_embed_proj_dim": 768,
           "vocab_size": 50272})",
       125'239'296},
  };
}
