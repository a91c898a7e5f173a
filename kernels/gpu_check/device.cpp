#include "kernels/gpu_check/device.hpp"

#include "kernels/cuda_module.hpp"
#if defined(SERVECAST_LINKED_CUDA)
#include "kernels/cuda/backend.hpp"
#endif
#if !defined(SERVECAST_ONLY_CUDA)  // tools/gpu_check builds in a minute what a lent machine is asked for
#include "kernels/cpu/backend.hpp"
#include "kernels/emulation/backend.hpp"
#endif

namespace servecast::kernels::gpu_check {
namespace {

Status open_cuda(Device& device) {
#if defined(SERVECAST_LINKED_CUDA)
  Status status = cuda::make_backend(device.backend);
  if (status.ok()) {
    device.launch_empty = cuda::launch_empty;
    device.copy = cuda::copy_on_device;
  }
  return status;
#else
  return load_cuda_backend({}, device.backend);
#endif
}

}  // namespace

Status open_device(const Options& options, Device& device) {
  if (options.backend == "cuda") return open_cuda(device);
#if defined(SERVECAST_ONLY_CUDA)
  return Status::unsupported("this build has the CUDA back end alone");
#else
  if (options.backend == "cpu") {
    device.backend = make_cpu_backend();
    return {};
  }
  EmulationOptions emulation;
  emulation.emulator.seed = options.seed;
  emulation.emulator.async_copy = options.eager ? emulation::AsyncCopy::kEager : emulation::AsyncCopy::kLazy;
  device.backend = make_emulated_backend(emulation);
  return {};
#endif
}

}  // namespace servecast::kernels::gpu_check
