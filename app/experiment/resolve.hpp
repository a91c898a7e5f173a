// One point of a study, from what was written to what is run.
#pragma once

#include <string>
#include <vector>

#include "app/experiment/key.hpp"

namespace servecast::experiments {

// A key that was given although it need not have a meaning: whether it had one here.
struct Use {
  std::string path;
  InputPlace place;
  bool used = false;
  std::string where;  // when it does: "deployment.policy is orca"
};

struct Resolved {
  Experiment experiment;
  std::string text;  // as JSON: every key that applies, defaults filled in; itself a valid experiment file
  std::vector<Use> uses;
};

// `root` must be valid (validate.hpp). Throws InputError for what is missing or does not fit together.
[[nodiscard]] Resolved resolve(const Node& root, const std::filesystem::path& file);

// What no key can know alone: parts that exclude or need each other. Adds to `uses`.
void check_together(const Node& root, const Experiment& experiment, std::vector<Use>& uses);

}  // namespace servecast::experiments
