// Where a deployment's step times come from: a profile, found and held against what is deployed.
#pragma once

#include <filesystem>
#include <string>

#include "app/experiment/experiment.hpp"
#include "costmodel/memory.hpp"
#include "costmodel/profile/profile.hpp"

namespace servecast {

// The file of `experiment.profile`, {tensor_parallel} in it replaced. Throws InputError as find_data does.
[[nodiscard]] std::filesystem::path find_profile(const Experiment& experiment);

// What a profile must be of.
struct ProfiledDeployment {
  std::string model, device;  // names, as in models/ and devices/
  DType weights = DType::kBf16;
  int tensor_parallel = 1;
  Tokens longest;  // prompt and answer
};

// Throws InputError, with the profile's file and field, where it is of something else.
void check_profile_fits(const Profile& profile, const std::filesystem::path& file, const ProfiledDeployment& deployed);

// "step times: a profile of DistServe on a100-80g-sxm, TP2 (github.com/...; Apache-2.0)"
[[nodiscard]] std::string describe_profile(const Profile& profile);

}  // namespace servecast
