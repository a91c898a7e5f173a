// Every key of an experiment file.
#pragma once

#include <vector>

#include "app/experiment/key.hpp"

namespace servecast::experiments {

// The whole file: a map.
[[nodiscard]] const Key& experiment_keys();

// Its two large parts.
[[nodiscard]] Key workload_key();
[[nodiscard]] Key deployment_key();

[[nodiscard]] Key lengths_key();
[[nodiscard]] Key conversations_key();
[[nodiscard]] Key arrivals_key();
[[nodiscard]] Key policy_options_key();
[[nodiscard]] std::vector<Key> router_keys();
[[nodiscard]] Key pools_key();
[[nodiscard]] std::vector<Key> membership_keys();

// Keys without a meaning for deployment.compat: simdistserve, which has neither KV memory nor transfers, say so.
[[nodiscard]] bool not_simdistserve(const Experiment& e);
inline constexpr const char* kNotSimdistserve = "compat is not given";

// No time lies beyond this: SimTime holds 292 years.
inline constexpr double kMostSeconds = 9e9;

}  // namespace servecast::experiments
