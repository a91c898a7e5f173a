#include "costmodel/closed_form.hpp"

namespace servecast {

ClosedForm ClosedForm::of(const ModelShape& model, const Dtypes& dtypes) {
  ClosedForm form;
  form.parameters = static_cast<double>(count_parameters(model).non_embedding);
  form.weight_bytes = static_cast<double>(servecast::weight_bytes(model, dtypes).count());
  form.kv_bytes_per_token = static_cast<double>(kv_bits_per_token(model, dtypes.kv)) / 8;
  form.layers = static_cast<double>(model.layer_count());
  std::int64_t twice_width = 0;
  for (const Layer& layer : model.layers) {
    const Attention& part = model.attentions[layer.attention];
    twice_width += part.query_heads * (part.head_dim + (part.latent ? part.latent->value_dim : part.head_dim));
  }
  form.attention_width = static_cast<double>(twice_width) / 2 / form.layers;
  return form;
}

}  // namespace servecast
