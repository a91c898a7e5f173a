// The CUDA back end on this process's first device. No header of CUDA is needed to include this one.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/backend.hpp"

namespace servecast::kernels::cuda {

// kNoDevice where there is no driver, no device, or none that this build has kernels for.
Status make_backend(std::unique_ptr<Backend>& backend);

// What a launch costs by itself, and what the memory gives without a kernel of ours: the ceilings that operators are
// measured against. Both need a device, and neither waits for it.
Status launch_empty(Stream stream);
Status copy_on_device(void* to, const void* from, std::int64_t bytes, Stream stream);

}  // namespace servecast::kernels::cuda
