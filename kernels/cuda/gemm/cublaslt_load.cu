// Finds and loads cuBLASLt.
#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "kernels/cuda/gemm/cublaslt.cuh"
#include "kernels/cuda/gemm/cublaslt.hpp"

namespace servecast::kernels::cuda {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNames[] = {"libcublasLt.so.13", "libcublasLt.so.12"};

void add_variable(const char* name, std::vector<fs::path>& folders) {
  const char* value = std::getenv(name);
  if (value != nullptr && *value != '\0') folders.emplace_back(value);
}

std::vector<fs::path> cuda_folders() {
  std::vector<fs::path> roots;
  add_variable("CUDA_HOME", roots);
  add_variable("CUDA_PATH", roots);
  roots.emplace_back("/usr/local/cuda");
  std::vector<fs::path> folders;
  for (const fs::path& root : roots) {
    for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib"}) folders.push_back(root / folder);
  }
  return folders;
}

// The folders of nvidia's packages of one Python environment.
void add_python_folders(const fs::path& environment, std::vector<fs::path>& folders) {
  std::error_code error;
  std::vector<fs::path> pythons;
  for (const fs::directory_entry& entry : fs::directory_iterator(environment / "lib", error)) {
    if (entry.path().filename().string().rfind("python3", 0) == 0) pythons.push_back(entry.path());
  }
  std::sort(pythons.begin(), pythons.end());
  for (const fs::path& python : pythons) {
    for (const char* packages : {"site-packages", "dist-packages"}) {
      for (const char* library : {"nvidia/cu13/lib", "nvidia/cublas/lib"}) {
        folders.push_back(python / packages / library);
      }
    }
  }
}

std::vector<fs::path> python_folders() {
  std::vector<fs::path> environments;
  add_variable("VIRTUAL_ENV", environments);
  add_variable("CONDA_PREFIX", environments);
  std::vector<fs::path> users;
  add_variable("HOME", users);
  for (const fs::path& user : users) environments.push_back(user / ".local");
  for (const char* prefix : {"/usr/local", "/usr", "/opt/conda"}) environments.emplace_back(prefix);
  std::vector<fs::path> folders;
  for (const fs::path& environment : environments) add_python_folders(environment, folders);
  return folders;
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool find_all(void* library, CublasLt& functions) {
  return find(library, "cublasLtCreate", functions.create) &&
         find(library, "cublasLtGetStatusString", functions.status_string) &&
         find(library, "cublasLtMatmul", functions.multiply) &&
         find(library, "cublasLtMatmulAlgoGetHeuristic", functions.heuristic) &&
         find(library, "cublasLtMatmulDescCreate", functions.create_operation) &&
         find(library, "cublasLtMatmulDescSetAttribute", functions.set_operation) &&
         find(library, "cublasLtMatmulDescDestroy", functions.destroy_operation) &&
         find(library, "cublasLtMatrixLayoutCreate", functions.create_layout) &&
         find(library, "cublasLtMatrixLayoutDestroy", functions.destroy_layout) &&
         find(library, "cublasLtMatmulPreferenceCreate", functions.create_preference) &&
         find(library, "cublasLtMatmulPreferenceSetAttribute", functions.set_preference) &&
         find(library, "cublasLtMatmulPreferenceDestroy", functions.destroy_preference);
}

Status load(CublasLt& functions) {
  std::string tried = "cuBLASLt was not found; tried";
  for (const std::string& path : cublaslt_paths()) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      tried.append(" ").append(path);
      continue;
    }
    if (!find_all(library, functions)) return Status::unsupported(path + " lacks functions of cuBLASLt");
    return functions.status_of(functions.create(&functions.handle), "cublasLtCreate");
  }
  return Status::unsupported(std::move(tried));
}

struct Loaded {
  CublasLt functions;
  Status status;
};

}  // namespace

Status CublasLt::status_of(cublasStatus_t status, const char* call) const {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  std::string message = call;
  message.append(": ").append(status_string(status));
  return status == CUBLAS_STATUS_NOT_SUPPORTED ? Status::unsupported(std::move(message))
                                               : Status::device(std::move(message));
}

std::vector<std::string> cublaslt_paths() {
  std::vector<fs::path> folders = cuda_folders();
  const std::vector<fs::path> python = python_folders();
  folders.insert(folders.end(), python.begin(), python.end());
  std::vector<std::string> paths(std::begin(kNames), std::end(kNames));
  for (const fs::path& folder : folders) {
    for (const char* name : kNames) {
      std::error_code error;
      if (fs::exists(folder / name, error)) paths.push_back((folder / name).string());
    }
  }
  return paths;
}

Status load_cublaslt(const CublasLt*& library) {
  static const Loaded loaded = [] {
    CublasLt functions;
    Status status = load(functions);
    return Loaded{functions, std::move(status)};
  }();
  library = &loaded.functions;
  return loaded.status;
}

}  // namespace servecast::kernels::cuda
