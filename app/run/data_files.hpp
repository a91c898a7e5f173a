// The models, devices, profiles and topologies that come with servecast, found by name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace servecast {

enum class DataKind { kModel, kDevice, kTopology, kProfile };

// Folders searched in turn: $SERVECAST_DATA alone where it is set; otherwise ../share/servecast beside the
// program, and the source tree it was built from.
[[nodiscard]] std::vector<std::filesystem::path> data_folders();

// Names of all of a kind, sorted.
[[nodiscard]] std::vector<std::string> data_names(DataKind kind);

// "llama-3.1-8b" is looked up; what holds a '/' or ends in .json, .yaml or .yml is a path.
// Throws InputError, at `field` and with a suggestion, for a name that is not known or a path that leads nowhere.
[[nodiscard]] std::filesystem::path find_data(DataKind kind, const std::string& name_or_path, std::string_view field);

}  // namespace servecast
