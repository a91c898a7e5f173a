#include "app/results/results_folder.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <set>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

#include "sim/error.hpp"

namespace servecast {
namespace {

namespace fs = std::filesystem;
constexpr const char* kMark = ".being-written";

[[noreturn]] void refuse(const fs::path& path, const std::string& problem, std::string_view hint = {}) {
  throw InputError({path.string(), 0, {}}, problem, hint);
}

bool ours(const fs::path& folder) {
  return fs::is_directory(folder) && (fs::exists(folder / "manifest.json") || fs::is_empty(folder));
}

// What a run writes; anything else in a results folder is its owner's.
bool written_by_a_run(const std::string& name) {
  static const std::set<std::string> kNames{"manifest.json", "table.csv", "summary.json", "requests.csv",
                                            "timeline.csv"};
  return kNames.contains(name) || name.starts_with("point-");
}

void check_replaceable(const fs::path& name) {
  if (!fs::exists(fs::symlink_status(name))) return;
  if (!ours(name)) refuse(name, "exists and holds no results of servecast", "choose another folder with --out");
  for (const fs::directory_entry& entry : fs::directory_iterator(name)) {
    const std::string file = entry.path().filename().string();
    if (!written_by_a_run(file))
      refuse(name, "holds '" + file + "', which a new run would delete",
             "move it, or choose another folder with --out");
  }
}

void clear_leftover(const fs::path& partial) {
  if (!fs::exists(fs::symlink_status(partial))) return;
  const int file = ::open((partial / kMark).c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) refuse(partial, "exists and was not made by servecast", "move it or choose another --out");
  const bool free = ::flock(file, LOCK_EX | LOCK_NB) == 0;
  ::close(file);
  if (!free) refuse(partial, "another run is writing these results", "choose another folder with --out");
  fs::remove_all(partial);
}

}  // namespace

fs::path point_folder(std::size_t index, std::size_t points) {
  return points == 1 ? fs::path{} : fs::path{fmt::format("point-{:03}", index)};
}

ResultsFolder::ResultsFolder(const fs::path& name) {
  try {
    name_ = fs::absolute(name).lexically_normal();
    if (!name_.has_filename()) name_ = name_.parent_path();
    partial_ = name_;
    partial_ += ".partial";
    check_replaceable(name_);
    clear_leftover(partial_);
    fs::create_directories(partial_);
  } catch (const fs::filesystem_error& error) {
    refuse(name, "results cannot be written here: " + error.code().message());
  }
  lock();
}

void ResultsFolder::lock() {
  lock_ = ::open((partial_ / kMark).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_ < 0 || ::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    const std::string reason = std::generic_category().message(errno);
    if (lock_ >= 0) ::close(lock_);
    refuse(partial_, "results cannot be written here: " + reason);
  }
}

ResultsFolder::~ResultsFolder() {
  if (lock_ < 0) return;
  std::error_code ignored;  // a folder that cannot be removed now is removed by the next run
  fs::remove_all(partial_, ignored);
  ::close(lock_);
}

fs::path ResultsFolder::point(std::size_t index, std::size_t points) const {
  const fs::path folder = partial_ / point_folder(index, points);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) refuse(folder, "cannot be made: " + error.message());
  return folder;
}

void ResultsFolder::commit() {
  fs::path old = name_;
  old += ".replaced";
  try {
    check_replaceable(name_);
    fs::remove(partial_ / kMark);
    const bool replaces = fs::exists(name_);
    if (replaces) fs::rename(name_, old);
    std::error_code error;
    fs::rename(partial_, name_, error);
    if (error) {
      if (replaces) fs::rename(old, name_);
      throw fs::filesystem_error("rename", name_, error);
    }
    if (replaces) fs::remove_all(old);
  } catch (const fs::filesystem_error& error) {
    refuse(name_, "results cannot be given their name: " + error.code().message());
  }
  ::close(lock_);
  lock_ = -1;
}

}  // namespace servecast
