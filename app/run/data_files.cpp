#include "app/run/data_files.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <system_error>

#include "sim/error.hpp"

namespace servecast {
namespace {

namespace fs = std::filesystem;

const char* folder_of(DataKind kind) { return kind == DataKind::kModel ? "models" : "devices"; }
const char* suffix_of(DataKind kind) { return kind == DataKind::kModel ? ".json" : ".yaml"; }
const char* word_for(DataKind kind) { return kind == DataKind::kModel ? "model" : "device"; }

bool looks_like_path(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".json") || text.ends_with(".yaml") ||
         text.ends_with(".yml");
}

}  // namespace

std::vector<fs::path> data_folders() {
  // Nothing here writes the environment, so that reading it is safe on any thread.
  const char* set = std::getenv("SERVECAST_DATA");
  if (set != nullptr && *set != '\0') return {fs::path{set}};
  std::vector<fs::path> folders;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) folders.push_back(program.parent_path().parent_path() / "share" / "servecast");
  folders.emplace_back(SERVECAST_DATA_DIR);
  return folders;
}

std::vector<std::string> data_names(DataKind kind) {
  std::set<std::string> names;
  for (const fs::path& folder : data_folders()) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder / folder_of(kind), error)) {
      if (entry.path().extension() == suffix_of(kind)) names.insert(entry.path().stem().string());
    }
  }
  return {names.begin(), names.end()};
}

fs::path find_data(DataKind kind, const std::string& name_or_path, std::string_view field) {
  const std::string where{field};
  std::error_code error;
  if (looks_like_path(name_or_path)) {
    if (!fs::is_regular_file(name_or_path, error)) throw InputError({{}, 0, where}, "no file '" + name_or_path + "'");
    return name_or_path;
  }
  for (const fs::path& folder : data_folders()) {
    const fs::path path = folder / folder_of(kind) / (name_or_path + suffix_of(kind));
    if (fs::is_regular_file(path, error)) return path;
  }
  const std::vector<std::string> known = data_names(kind);
  if (known.empty()) {
    throw InputError({{}, 0, where}, std::string("no ") + folder_of(kind) + " in " + data_folders().back().string(),
                     "set SERVECAST_DATA to the folder that holds models/ and devices/");
  }
  throw InputError({{}, 0, where}, std::string("unknown ") + word_for(kind) + " '" + name_or_path + "'",
                   suggest(name_or_path, known));
}

}  // namespace servecast
