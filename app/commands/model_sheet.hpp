// What `servecast model` works out: parameters, memory and roofline of one model on one device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "costmodel/device.hpp"
#include "costmodel/memory.hpp"
#include "costmodel/model.hpp"

namespace servecast {

struct SheetChoice {
  std::int64_t ranks = 1;   // of each stage
  std::int64_t stages = 1;  // of a pipeline
  Dtypes dtypes;
  MemoryBudget budget;                 // its capacity is filled in from the device
  std::vector<std::int64_t> contexts;  // tokens
  std::vector<std::int64_t> batches;   // sequences
};

struct FitRow {
  std::int64_t context = 0;
  double kv_bytes = 0;      // of one sequence, on all devices
  double closed_form = 0;   // sequences
  std::int64_t engine = 0;  // sequences, in whole blocks and with room for the first answer token
};

// One step: of `batch` sequences that decode, or of one prompt.
struct StepRow {
  std::int64_t batch = 0;    // 0: a prefill
  std::int64_t context = 0;  // tokens: of each sequence, or of the prompt
  double step_s = 0;         // predicted; through all stages
  double bound_s = 0;        // at the peaks
  bool compute_bound = false;
  double intensity = 0;     // FLOP per byte of memory traffic
  double tokens_per_s = 0;  // with such a batch in every stage
  bool fits = true;         // in the KV cache
};

struct ModelSheet {
  ModelShape model;
  ParameterCounts parameters;
  std::int64_t multiplied = 0;  // parameters that multiply each token: matrices it uses, LM head, no embedding
  Dtypes dtypes;
  std::int64_t ranks = 1;
  std::int64_t stages = 1;
  double kv_bytes_per_token = 0;  // on all devices
  std::optional<DeviceSheet> device;
  std::optional<MemoryPlan> memory;  // of one device of the fullest stage
  std::size_t fullest = 0;
  std::vector<FitRow> fits;
  std::vector<StepRow> decodes, prefills;
};

// Without a device: parameters and KV bytes only. Throws InputError as plan_memory and RooflineModel do; where the
// model does not fit, the message names the fewest devices of a host on which it does.
[[nodiscard]] ModelSheet make_sheet(const ModelShape& model, const std::optional<DeviceSheet>& device,
                                    const SheetChoice& choice);

[[nodiscard]] std::string sheet_text(const ModelSheet& sheet);
[[nodiscard]] std::string sheet_json(const ModelSheet& sheet);

}  // namespace servecast
