#include "tests/figures/rows.hpp"

namespace servecast::figures {
namespace {

constexpr bool kPartly = true;

constexpr std::string_view kSpeculation = "speculative decoding";
constexpr std::string_view kPrefixCache = "a prefix cache";
constexpr std::string_view kSharing = "KV blocks that sequences share, with copy on write";
constexpr std::string_view kKernels = "kernels and their references";
constexpr std::string_view kCalibrate = "calibration on the user's device";
constexpr std::string_view kClusters = "clusters with prefill and decode apart";
constexpr std::string_view kCapacity = "a search for the highest rate that meets an SLO";
constexpr std::string_view kAdvice = "advice from a baseline run";

}  // namespace

const std::vector<Row>& not_yet() {
  static const std::vector<Row> rows{
      {"S0-14", "the measured gains: kernels that unpack quantised weights, measured", kPartly},
      {"S0-15", "the same grid as measurements: calibration on the user's device", kPartly},
      {"S0-33", "the bands of power-of-two and exact reservations: external fragmentation of a buddy allocator",
       kPartly},
      {"S0-35", kSharing},
      {"S0-36", kSharing},
      {"S0-37", kPrefixCache},
      {"S0-38", "a prefix cache as a radix tree"},
      {"S0-39", kPrefixCache},
      {"S0-40", kPrefixCache},
      {"S0-41", "the ratio of 36.9: pipeline parallelism", kPartly},
      {"S0-44", kCapacity},
      {"S0-46", kClusters},
      {"S0-47", kClusters},
      {"S0-48", kKernels},
      {"S0-49", kKernels},
      {"S0-50", kKernels},
      {"S0-52", kCalibrate},
      {"S0-53", kKernels},
      {"S0-54", kSpeculation},
      {"S0-55", kSpeculation},
      {"S0-56", kSpeculation},
      {"S0-57", kSpeculation},
      {"S0-58", kSpeculation},
      {"S0-61", "a simulated cache that keeps first and latest tokens only", kPartly},
      {"S0-62", "prices of cached input and of cache writes: a cost report", kPartly},
      {"S2-08", kCapacity},
      {"S2-10", "a prefix cache, and traces with a shared system prompt"},
      {"S2-15", "cache policies that drop tokens"},
      {"S2-18", kSharing},
      {"S2-20", kSharing},
      {"S2-21", kSpeculation},
      {"S2-22", kSpeculation},
      {"S2-23", kSpeculation},
      {"S2-24", kSpeculation},
      {"S2-25", kSpeculation},
      {"S2-26", kSpeculation},
      {"S2-27", kSpeculation},
      {"S2-28", kSpeculation},
      {"S2-29", kSpeculation},
      {"S2-30", kSpeculation},
      {"S2-31", kSpeculation},
      {"S2-32", kSpeculation},
      {"S2-33", kSpeculation},
      {"S2-35", kSpeculation},
      {"S2-39", kAdvice},
      {"S2-42", kAdvice},
      {"S2-43", "kernels, speculative decoding and shared blocks"},
  };
  return rows;
}

const std::vector<Row>& not_a_simulators() {
  static const std::vector<Row> rows{
      {"S0-59", "a statement about sampling: equal in distribution is not equal bit by bit"},
      {"S0-63", "repeats S0-33 and S0-62"},
      {"S2-09", "the ratio of 24 is over Hugging Face Transformers, an engine that is not modelled"},
      {"S2-19", "the copies of a cache that is not allocated ahead; no serving engine keeps one"},
  };
  return rows;
}

}  // namespace servecast::figures
