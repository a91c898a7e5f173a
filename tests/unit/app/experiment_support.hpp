// Experiments as text, for tests.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/experiment/experiment.hpp"

namespace servecast::test {

// A file called exp.yaml in a folder of its own, removed at the end.
class ExperimentFile {
 public:
  explicit ExperimentFile(const std::string& text);
  ~ExperimentFile();
  ExperimentFile(const ExperimentFile&) = delete;
  ExperimentFile& operator=(const ExperimentFile&) = delete;

  [[nodiscard]] std::filesystem::path path() const { return folder_ / "exp.yaml"; }

 private:
  std::filesystem::path folder_;
};

// Five lines that are enough for a run; more can be appended. `workload:` ends it, with an indent of two.
inline const std::string kHead = "servecast: 1\nmodel: llama-3.1-8b\ndevice: h100-sxm\n";
inline const std::string kDeployment = "deployment: {policy: sarathi}\n";
inline const std::string kWorkload = "workload: {trace: t.csv}\n";
inline const std::string kBase = kHead + kDeployment + kWorkload;

[[nodiscard]] Study study(const std::string& text, const std::vector<std::string>& overrides = {});
// The only point's experiment.
[[nodiscard]] Experiment experiment(const std::string& text, const std::vector<std::string>& overrides = {});
// The message of the InputError, with the folder cut off ("exp.yaml:3: …"); "" when there is none.
[[nodiscard]] std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {});

}  // namespace servecast::test
