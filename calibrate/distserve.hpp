// The step times that DistServe's authors publish for their own simulator, as a profile of kind `steps`.
//
// Their file: model -> tensor ranks -> {prefill: [a, b, c], decoding_smallbs: [a, b, c], decoding_largebs: [a, b, c],
// decoding_large_small_bs_threshold: B}, milliseconds of a + b · Σtokens + c · Σtokens² (prefill) and of
// a + b · Σcontext + c · sequences (decode), the large batches from B sequences on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "costmodel/profile/profile.hpp"

namespace servecast {

enum class DistserveEngine : std::uint8_t { kDistserve, kVllm };

struct DistserveChoice {
  std::string model;  // as in models/; the file's has an owner before it ("facebook/opt-13b")
  std::int64_t tensor_parallel = 1;
  DistserveEngine engine = DistserveEngine::kDistserve;  // whose file it is: it does not say so itself
  std::string device = "a100-80g-sxm";                   // the one that they published
  Tokens longest_prompt;                                 // the model's
  std::string made_by;
};

// Throws InputError with file and field for a file of another form, a model or split that it does not have, and for
// coefficients that can't be milliseconds in this order: a step takes from 0.1 ms to 10 s and more than what a token
// adds to it, which is more than what its square adds, and a sequence adds more than a token of its context.
[[nodiscard]] Profile import_distserve(std::string_view json, const std::string& file, const DistserveChoice& choice);

}  // namespace servecast
