// The back-of-the-envelope formulas of the literature, from a handful of numbers: two FLOPs per parameter and token,
// weights and KV read once per step. The operator list (work.hpp) is what simulations use; these show what a
// textbook would say, and may be given rounded inputs.
#pragma once

#include <algorithm>

#include "costmodel/memory.hpp"
#include "costmodel/model.hpp"

namespace servecast {

struct ClosedForm {
  double parameters = 0;  // non-embedding ones
  double weight_bytes = 0;
  double kv_bytes_per_token = 0;
  double layers = 0;
  double attention_width = 0;  // query heads times head size

  // The attention width is the mean over the layers, for latent attention that of keys and values; windows are
  // not regarded.
  [[nodiscard]] static ClosedForm of(const ModelShape& model, const Dtypes& dtypes);

  // 2·N·n + 2·L·n²·d: scores and values, 4·d FLOPs a pair, over n²/2 causal pairs.
  [[nodiscard]] double prefill_attention_flops(double tokens) const {
    return 2 * layers * tokens * tokens * attention_width;
  }
  [[nodiscard]] double prefill_flops(double tokens) const {
    return 2 * parameters * tokens + prefill_attention_flops(tokens);
  }
  [[nodiscard]] double prefill_bytes(double tokens) const { return weight_bytes + kv_bytes_per_token * tokens; }
  // 4·L·d FLOPs per cached token.
  [[nodiscard]] double decode_flops(double batch, double context) const {
    return batch * (2 * parameters + 4 * layers * attention_width * context);
  }
  [[nodiscard]] double decode_bytes(double batch, double context) const {
    return weight_bytes + batch * context * kv_bytes_per_token;
  }
  // Tokens at which attention costs as much as the matrices do in a prefill: N / (L · d).
  [[nodiscard]] double cut_point() const { return parameters / (layers * attention_width); }
};

// t ≥ max(FLOPs / peak, bytes / bandwidth).
[[nodiscard]] inline double roofline_seconds(double flops, double bytes, double peak, double bandwidth) {
  return std::max(flops / peak, bytes / bandwidth);
}

}  // namespace servecast
