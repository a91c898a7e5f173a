#include "kernels/cuda_module.hpp"

#include <dlfcn.h>
#include <filesystem>
#include <system_error>

namespace servecast::kernels {
namespace {

constexpr std::int32_t kStubLibrary = 34;
constexpr std::int32_t kInsufficientDriver = 35;
constexpr std::int32_t kNoCudaDevice = 100;

Status no_usable_device(std::string_view why) {
  std::string message = "no usable CUDA device: ";
  return Status::no_device(message.append(why));
}

// Where the module may lie, in the order in which it is looked for; a bare name is left to the system.
std::vector<std::string> candidates(const std::vector<std::string>& folders) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const std::string& folder : folders) {
    const std::filesystem::path path = std::filesystem::path(folder) / kCudaModule;
    if (std::filesystem::exists(path, error)) paths.push_back(path.string());
  }
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside = program.parent_path() / kCudaModule;
  if (std::filesystem::exists(beside, error)) paths.push_back(beside.string());
  paths.emplace_back(kCudaModule);
  return paths;
}

}  // namespace

Status load_cuda_backend(const std::vector<std::string>& folders, std::unique_ptr<Backend>& backend) {
  const std::string path = candidates(folders).front();
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    const char* why = dlerror();
    return no_usable_device(why == nullptr ? "the module does not load" : why);
  }
  void* symbol = dlsym(module, "servecast_cuda_backend");
  if (symbol == nullptr) return Status::invalid(path + " is no module of servecast");
  const auto entry = reinterpret_cast<CudaModuleEntry>(symbol);
  Status status;
  backend.reset(entry(kModuleInterface, status));
  return status;
}

Status usable_device(std::int32_t cuda_error, std::string_view cuda_message, std::int32_t devices) {
  if (cuda_error == kStubLibrary) return no_usable_device("a stub library stands in for the driver");
  if (cuda_error == kInsufficientDriver) return no_usable_device("there is no driver, or it is older than this build");
  if (cuda_error == kNoCudaDevice || (cuda_error == 0 && devices == 0)) return no_usable_device("the driver sees none");
  if (cuda_error == 0) return {};
  std::string message(cuda_message);
  return Status::device(message.append(" (CUDA error ").append(std::to_string(cuda_error)).append(")"));
}

}  // namespace servecast::kernels
