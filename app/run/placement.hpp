// Placements: how many replicas of which split a number of GPUs can hold, for a search of the one with most goodput per
// GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/experiment/experiment.hpp"

namespace servecast {

struct ReplicaGroup {
  int replicas = 1;
  int tensor_parallel = 1;
  int pipeline_parallel = 1;

  [[nodiscard]] int gpus() const { return replicas * tensor_parallel * pipeline_parallel; }
};

// All replicas alike, or those that prefill and those that decode.
struct Placement {
  ReplicaGroup prefill;  // all, where there are no pools
  std::optional<ReplicaGroup> decode;

  [[nodiscard]] int gpus() const { return prefill.gpus() + (decode ? decode->gpus() : 0); }
};

// "2 x TP4", "1 x TP2 PP2"
[[nodiscard]] std::string describe(const ReplicaGroup& group);

// Every placement on at most `gpus`, by GPUs, then the split and number of those that prefill, then of those that
// decode.
[[nodiscard]] std::vector<Placement> placements_on(int gpus, bool pools);

struct LeftOut {
  std::string why;  // "prefill over 1: ..."
  int placements = 0;
};

struct PlacementChoice {
  std::vector<Placement> fitting;
  std::vector<LeftOut> left_out;  // by reason
};

// Those of placements_on that every point can run: its model divides so and fits the devices' memory, and its profile
// knows the split. A placement is left out for the first of its pools that can't be. Requires points that all have
// pools, or none of them.
[[nodiscard]] PlacementChoice choose_placements(const std::vector<GridPoint>& points, int gpus);

// As changes of the experiment: "deployment.tensor_parallel=2".
[[nodiscard]] std::vector<std::string> overrides_of(const Placement& placement);

// The study at every fitting placement, as its first axes ("prefill" and "decode", or "replicas"). Throws InputError
// where none fits, or the study sweeps what placements decide.
struct PlacementStudy {
  Study study;
  std::vector<LeftOut> left_out;
};
[[nodiscard]] PlacementStudy study_placements(const std::filesystem::path& file,
                                              const std::vector<std::string>& overrides, int gpus);

}  // namespace servecast
