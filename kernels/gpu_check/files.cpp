#include "kernels/gpu_check/files.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace servecast::kernels::gpu_check {

Status write_file(const std::string& path, const std::string& text) {
  const std::string unfinished = path + ".unfinished";
  std::ofstream out(unfinished, std::ios::binary);
  out << text;
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(unfinished, path, error);
  if (!out || error) return Status::invalid("cannot write " + path);
  return {};
}

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string json_lines(const std::vector<JsonObject>& objects) {
  std::string text;
  for (const JsonObject& object : objects) text.append(object.text()).append("\n");
  return text;
}

}  // namespace servecast::kernels::gpu_check
