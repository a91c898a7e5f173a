// An experiment as its YAML file says it, resolved and checked field by field; nothing is loaded yet.
// docs/experiments.md documents every key; the tree of keys in keys.hpp is what both are made from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "costmodel/profile/steps.hpp"
#include "policies/registry.hpp"
#include "policies/routing/registry.hpp"
#include "policies/scaling/target_tracking.hpp"
#include "sim/client_latency.hpp"
#include "sim/error.hpp"
#include "sim/handover.hpp"
#include "sim/summary.hpp"
#include "sim/units.hpp"
#include "traces/workload.hpp"

namespace servecast {

struct TraceChoice {
  std::filesystem::path path;         // relative paths are relative to the experiment's file
  std::optional<std::string> format;  // found from the content where absent
  bool sort = false;
  std::optional<double> characters_per_token;      // for text without a tokenizer
  std::optional<std::filesystem::path> tokenizer;  // a sentencepiece model or a Hugging Face tokenizer.json
};

struct WorkloadSection {
  std::optional<TraceChoice> trace;
  WorkloadSpec spec;             // arrivals, lengths, requests, max_tokens, seed
  bool rate_is_goodput = false;  // the arrivals' rate is to be searched; the one in `spec` is where to begin
};

struct DtypeChoice {  // by name, as costmodel/dtype.hpp parses them; absent: as the model is published
  std::optional<std::string> weights, kv, activations;
};

// What joins the devices; absent: the device's own link.
struct TopologyChoice {
  std::string sheet;                  // topologies/NAME.yaml, or a path
  std::optional<std::int64_t> hosts;  // absent: the sheet's
  InputPlace place;                   // where it is given
};

struct PoolSection {  // absent: as the deployment has it
  int replicas = 1;
  std::optional<int> tensor_parallel;
  std::optional<int> pipeline_parallel;
  std::optional<std::string> device, profile;
  std::optional<Blocks> kv_blocks;
};

// Prefill and decode on replicas of their own.
struct PoolsSection {
  PoolSection prefill, decode;
  RouterOptions decode_router{.kind = RouterKind::kLeastRequests, .load = Load::kRequests, .slots = {}};
  PullConfig pull;
  double bytes_per_s = 0;  // without a topology
  double latency_s = 0;    // likewise
  double host_bytes = 0;   // of the swap space of one decode replica
  double swap_bytes_per_s = 0;
};

struct FailureSection {
  double at_s = 0;
  std::optional<Role> pool;  // where there are pools: one of them
  int replicas = 1;
  std::optional<double> back_after_s;
  double retry_after_s = 0;
  bool keep_tokens = false;
};

struct JoinSection {
  double at_s = 0;
  int replicas = 1;
  double cold_start_s = 0;
};

struct AutoscalerSection {
  TargetTrackingOptions options;  // `most` is the deployment's replicas
  double every_s = 15;
  double provisioning_s = 0;
};

struct DeploymentSection {
  SchedulerOptions policy;
  bool async_scheduling = false;
  int tensor_parallel = 1;
  int pipeline_parallel = 1;
  int replicas = 1;
  RouterOptions router;
  double snapshot_age_s = 0;
  std::optional<TopologyChoice> topology;
  std::optional<PoolsSection> pools;
  std::vector<FailureSection> failures;
  std::optional<JoinSection> join;
  std::optional<AutoscalerSection> autoscaler;
  DtypeChoice dtypes;
  std::optional<Tokens> max_model_len;  // absent: the model's own
  Tokens block_size{16};
  double memory_utilisation = 0.9;
  Bytes memory_reserve;             // what the engine keeps besides weights, activations and KV
  std::optional<Blocks> kv_blocks;  // pinned to a live engine's count
  HostTime host;
  ClientLatency client;
  PhaseScale time_scale;  // of profiles
};

// Replicas that take requests from the start on, those with the lowest numbers.
[[nodiscard]] inline std::int64_t there_at_first(const DeploymentSection& deployment) {
  if (deployment.autoscaler) return deployment.autoscaler->options.least;
  return deployment.replicas - (deployment.join ? deployment.join->replicas : 0);
}

struct Experiment {
  std::string name;  // of its folder, or file
  std::filesystem::path file;
  std::string model;                   // models/NAME.json, or a path
  std::string device;                  // devices/NAME.yaml, or a path; empty: the profile's
  std::optional<std::string> profile;  // devices/profiles/NAME.json, or a path; {tensor_parallel} stands for the split
  WorkloadSection workload;
  DeploymentSection deployment;
  SummaryOptions summary;  // SLOs, warm-up, cool-down
  std::optional<double> horizon_s;
  std::uint64_t seed = 1;
};

// One point of the grid that `sweep:` spans; the only point of an experiment without one.
struct GridPoint {
  std::vector<std::pair<std::string, std::string>> axes;  // path -> value, as written; "-" where it has no meaning
  Experiment experiment;
  // As JSON: every key that applies with its value, defaults filled in, paths absolute. Itself a valid file.
  std::string resolved;
};

struct Study {
  std::filesystem::path file;
  std::string text;  // of the file, for the manifest
  std::vector<std::string> axes;
  std::vector<GridPoint> points;  // the first axis varies slowest
};

// `overrides`: "path=value" from the command line, applied before validation. Throws InputError with file,
// line and field for whatever is wrong, in the file or at any point of the grid.
[[nodiscard]] Study load_study(const std::filesystem::path& file, const std::vector<std::string>& overrides = {});

// The JSON Schema (draft 2020-12) of an experiment file, for editors; made from the table that validates.
[[nodiscard]] std::string experiment_json_schema();

// The tables of docs/experiments.md, in Markdown; from the same keys.
[[nodiscard]] std::string experiment_reference_markdown();

}  // namespace servecast
