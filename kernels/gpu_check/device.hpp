// What gpu_check runs on: a back end, and what only a real GPU has.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "kernels/backend.hpp"
#include "kernels/gpu_check/options.hpp"

namespace servecast::kernels::gpu_check {

struct Device {
  std::unique_ptr<Backend> backend;
  // Both empty where there is no GPU, and where the CUDA back end is a loaded module.
  std::function<Status(Stream stream)> launch_empty;
  std::function<Status(void* to, const void* from, std::int64_t bytes, Stream stream)> copy;

  [[nodiscard]] bool is_gpu() const { return backend->info().name == "cuda"; }
  // Whether both functions are there.
  [[nodiscard]] bool is_linked() const { return launch_empty && copy; }
};

// The back end that the options name. The CUDA one is linked in where the program was built by nvcc, else its module
// is loaded.
Status open_device(const Options& options, Device& device);

}  // namespace servecast::kernels::gpu_check
