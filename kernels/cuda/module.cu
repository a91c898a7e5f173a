// The entry of the module servecast_cuda.so; see kernels/cuda_module.hpp.
#include "kernels/cuda/backend.hpp"
#include "kernels/cuda_module.hpp"

extern "C" __attribute__((visibility("default"))) servecast::kernels::Backend* servecast_cuda_backend(
    std::uint64_t interface, servecast::kernels::Status& status) {
  using servecast::kernels::Status;
  if (interface != servecast::kernels::kModuleInterface) {
    status = Status::invalid("servecast_cuda.so is of another version than the program that loads it");
    return nullptr;
  }
  std::unique_ptr<servecast::kernels::Backend> backend;
  status = servecast::kernels::cuda::make_backend(backend);
  return backend.release();
}
