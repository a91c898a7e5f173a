#include "app/run/step_times.hpp"

#include <fmt/format.h>

#include "app/run/data_files.hpp"
#include "sim/error.hpp"

namespace servecast {
namespace {

constexpr std::string_view kSplit = "{tensor_parallel}";

}  // namespace

std::filesystem::path find_profile(const Experiment& experiment) {
  std::string name = *experiment.profile;
  for (std::size_t at = name.find(kSplit); at != std::string::npos; at = name.find(kSplit)) {
    name.replace(at, kSplit.size(), std::to_string(experiment.deployment.tensor_parallel));
  }
  return find_data(DataKind::kProfile, name, "profile");
}

void check_profile_fits(const Profile& profile, const std::filesystem::path& file, const ProfiledDeployment& deployed) {
  const Provenance& of = profile.provenance;
  const auto refuse = [&](const char* field, const std::string& problem, const std::string& hint) {
    throw InputError({file.string(), 0, field}, problem, hint);
  };
  const auto same = [&](const char* field, const std::string& has, const std::string& wanted) {
    if (has != wanted) refuse(field, fmt::format("is {}, and {} is deployed", has, wanted), "name its own profile");
  };
  same("provenance.model", of.model, deployed.model);
  same("provenance.device", of.device, deployed.device);
  same("provenance.dtype", of.dtype, std::string(dtype_name(deployed.weights)));
  if (of.tensor_parallel != deployed.tensor_parallel) {
    refuse("provenance.tensor_parallel",
           fmt::format("is {}, and a replica is split over {}", of.tensor_parallel, deployed.tensor_parallel),
           "put {tensor_parallel} in the profile's name, or import that split: servecast calibrate import");
  }
  if (of.pipeline_parallel != 1) refuse("provenance.pipeline_parallel", "is above 1, and no replica has stages", "");
  if (deployed.longest > longest_prompt(profile)) {
    refuse("steps.prefill.longest_prompt_tokens",
           fmt::format("is {}, and requests may have {} tokens", longest_prompt(profile).count(),
                       deployed.longest.count()),
           "set deployment.max_model_len");
  }
}

std::string describe_profile(const Profile& profile) {
  const Provenance& of = profile.provenance;
  return fmt::format("step times: a profile of {} on {}, TP{} ({}; {})", of.engine, of.device, of.tensor_parallel,
                     of.source, of.licence);
}

}  // namespace servecast
