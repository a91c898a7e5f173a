// The folder of a run's results. It is written beside its final name and renamed when it is whole, so that
// nothing half-written ever has that name.
#pragma once

#include <cstddef>
#include <filesystem>

namespace servecast {

class ResultsFolder {
 public:
  // Makes NAME.partial, so that an unwritable place is known before anything is simulated. An existing NAME is
  // replaced in the end if it holds results (a manifest.json) or nothing, and refused otherwise; a NAME.partial
  // that an interrupted run left is removed, one that is being written is refused. Throws InputError.
  explicit ResultsFolder(const std::filesystem::path& name);
  // Removes what was written unless it was committed.
  ~ResultsFolder();
  ResultsFolder(const ResultsFolder&) = delete;
  ResultsFolder& operator=(const ResultsFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& name() const { return name_; }
  // Where to write until then.
  [[nodiscard]] const std::filesystem::path& partial() const { return partial_; }
  // The folder of one point of a grid: partial() itself when it is the only one. Made on demand.
  [[nodiscard]] std::filesystem::path point(std::size_t index, std::size_t points) const;
  // Gives the folder its name. Throws InputError where that fails; the old results are then still there.
  void commit();

 private:
  void lock();

  std::filesystem::path name_, partial_;
  int lock_ = -1;  // of a file in partial_, held while it is written
};

// "point-007"; empty for the only point.
[[nodiscard]] std::filesystem::path point_folder(std::size_t index, std::size_t points);

}  // namespace servecast
