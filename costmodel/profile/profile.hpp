// What a device really does, from a file: docs/profiles.md describes it. It takes the place of the roofline's step
// times; memory is still planned from the device's sheet.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "costmodel/profile/steps.hpp"
#include "sim/step.hpp"

namespace servecast {

// What was measured, where the numbers come from, and who may use them. All of it is required.
struct Provenance {
  std::string device;  // as in devices/
  std::string model;   // as in models/
  std::string dtype;   // of weights and activations, as costmodel/dtype.hpp names it
  std::int64_t tensor_parallel = 1;
  std::int64_t pipeline_parallel = 1;
  std::string engine;   // whose steps they are
  std::string source;   // file, repository, commit
  std::string licence;  // of the source, as SPDX names it
  std::string origin;   // what is known of how the numbers were made, and what they contain
  std::string made_by;  // the command that wrote the file
};

struct Profile {
  Provenance provenance;
  std::variant<StepsProfile> steps;  // by kind; one alternative each
};

// Of the format. Files of other versions are refused.
inline constexpr std::int64_t kProfileVersion = 1;

// Throws InputError with file and field for what is no JSON, a key that is missing, unknown or of another kind, a
// number out of its range, decode laws that do not rise from one sequence, or a prefill law that falls with longer
// prompts.
[[nodiscard]] Profile load_profile(const std::string& path);
[[nodiscard]] Profile parse_profile(std::string_view json, const std::string& file);

// The file's text: parse_profile of it is the same profile, to the bit.
[[nodiscard]] std::string profile_json(const Profile& profile);

// Its evaluator; for one thread.
[[nodiscard]] std::unique_ptr<StepCostModel> make_profile_model(const Profile& profile, PhaseScale scale,
                                                                HostTime host);

// The longest prompt that it knows.
[[nodiscard]] Tokens longest_prompt(const Profile& profile);

}  // namespace servecast
