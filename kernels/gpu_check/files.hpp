// Result files: always whole under their name, never half-written.
#pragma once

#include <string>
#include <vector>

#include "kernels/gpu_check/json.hpp"
#include "kernels/status.hpp"

namespace servecast::kernels::gpu_check {

// Writes beside the file and renames.
Status write_file(const std::string& path, const std::string& text);

// The file's text, empty where there is none.
[[nodiscard]] std::string read_file(const std::string& path);

// One object a line.
[[nodiscard]] std::string json_lines(const std::vector<JsonObject>& objects);

}  // namespace servecast::kernels::gpu_check
