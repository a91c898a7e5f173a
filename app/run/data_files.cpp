#include "app/run/data_files.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <system_error>

#include "sim/error.hpp"

namespace servecast {
namespace {

namespace fs = std::filesystem;

struct KindOfData {
  const char* word;
  const char* folder;
  const char* suffix;
};

const KindOfData& about(DataKind kind) {
  static const KindOfData kKinds[] = {{"model", "models", ".json"},
                                      {"device", "devices", ".yaml"},
                                      {"topology", "topologies", ".yaml"},
                                      {"profile", "devices/profiles", ".json"}};
  return kKinds[static_cast<std::size_t>(kind)];
}

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
    for (const auto& entry : fs::directory_iterator(folder / about(kind).folder, error)) {
      if (entry.path().extension() == about(kind).suffix) names.insert(entry.path().stem().string());
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
    const fs::path path = folder / about(kind).folder / (name_or_path + about(kind).suffix);
    if (fs::is_regular_file(path, error)) return path;
  }
  const std::vector<std::string> known = data_names(kind);
  if (known.empty()) {
    throw InputError({{}, 0, where}, std::string("no ") + about(kind).folder + " in " + data_folders().back().string(),
                     "set SERVECAST_DATA to the folder that holds models/ and devices/");
  }
  throw InputError({{}, 0, where}, std::string("unknown ") + about(kind).word + " '" + name_or_path + "'",
                   suggest(name_or_path, known));
}

}  // namespace servecast
