// Reads ModelShape from a Hugging Face config.json.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "costmodel/model.hpp"

namespace servecast {

// Throws InputError that names the file and field. An architecture that is not known is refused by name.
[[nodiscard]] ModelShape load_model(const std::string& path);
[[nodiscard]] ModelShape parse_model(std::string_view config_json, const std::string& name);

// The model_type values that are read, sorted.
[[nodiscard]] std::vector<std::string> supported_architectures();

}  // namespace servecast
