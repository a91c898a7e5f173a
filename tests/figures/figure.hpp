// What the figures are held against: the shipped models and devices, and how a printed figure is compared.
//
// The tests of this folder are named after the rows they check: S0-… and S2-… are the two documents whose figures
// servecast must reproduce, A.0, B.… and F… their conventions, the published experiments and the known errors.
// Tolerances: an exact count (==); as printed, after rounding to its digits (printed()); a closed form (1e-9,
// closed()); a band; an order.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <doctest/doctest.h>
#include <string>

#include "costmodel/closed_form.hpp"
#include "costmodel/device.hpp"
#include "costmodel/memory.hpp"
#include "costmodel/model_config.hpp"
#include "costmodel/roofline.hpp"

namespace servecast::figures {

inline constexpr double kGb = 1e9;
inline constexpr double kGib = 0x1p30;

inline ModelShape shipped_model(const std::string& name) {
  return load_model(SERVECAST_SOURCE_DIR "/models/" + name + ".json");
}
inline DeviceSheet shipped_device(const std::string& name) {
  return load_device(SERVECAST_SOURCE_DIR "/devices/" + name + ".yaml");
}

// The figure as a document prints it, with so many decimals.
inline std::string printed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

inline doctest::Approx closed(double value) { return doctest::Approx(value).epsilon(1e-9).scale(0); }

inline double real(std::int64_t count) { return static_cast<double>(count); }
inline double gb(Bytes bytes) { return real(bytes.count()) / kGb; }
inline double gib(Bytes bytes) { return real(bytes.count()) / kGib; }
// Sequences that fit, by a closed form's real number.
inline std::int64_t whole(double sequences) { return static_cast<std::int64_t>(std::floor(sequences)); }

// The closed form: no activations, no reserve.
inline MemoryPlan plan_of(const ModelShape& shard, std::int64_t capacity, const Dtypes& dtypes = {},
                          double utilisation = 0.9) {
  MemoryBudget budget;
  budget.capacity = Bytes{capacity};
  budget.utilisation = utilisation;
  return plan_memory(shard, dtypes, budget);
}

// The same with exactly so much left for the cache: the rest is reserved.
inline MemoryPlan plan_with_kv(const ModelShape& shard, Bytes kv, const Dtypes& dtypes = {}) {
  MemoryBudget budget;
  budget.utilisation = 1;
  budget.reserve = Bytes{1'000'000'000};
  budget.capacity = weight_bytes(shard, dtypes) + budget.reserve + kv;
  return plan_memory(shard, dtypes, budget);
}

inline StepShape decode_step(std::int64_t batch, std::int64_t context) {
  StepShape shape;
  shape.decode_sequences = shape.sampled_rows = batch;
  shape.decode_context = shape.decode_window_context = Tokens{batch * context};
  return shape;
}

// Refers to `chunk`.
inline StepShape prefill_step(const PrefillChunk& chunk) {
  StepShape shape;
  shape.prefills = {&chunk, 1};
  shape.sampled_rows = 1;
  return shape;
}

}  // namespace servecast::figures
