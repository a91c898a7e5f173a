// The CUDA back end as a module that is loaded at run time, so that a program starts where no CUDA library is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/backend.hpp"

namespace servecast::kernels {

inline constexpr std::string_view kCudaModule = "servecast_cuda.so";

// What program and module must agree on: it changes whenever an operator is added or an operand moves.
inline constexpr std::uint64_t kModuleInterface =
    (std::uint64_t{std::variant_size_v<Operation>} << 32U) + (sizeof(Operation) << 16U) + sizeof(BackendInfo);

// The module's only symbol, "servecast_cuda_backend". Gives null, and says why in `status`, where it cannot serve.
using CudaModuleEntry = Backend* (*)(std::uint64_t interface, Status& status);

// Looks for the module in `folders`, beside the running program and where the system keeps its libraries, in that
// order, and makes its back end. kNoDevice where there is no module, no driver or no device that it has kernels for.
// A loaded module stays: memory and streams of its back end may be used until the program ends.
Status load_cuda_backend(const std::vector<std::string>& folders, std::unique_ptr<Backend>& backend);

// What cudaGetDeviceCount says, as a status: ok where there is a device. The errors that mean "none here" (34: a stub
// in place of the driver, 35: no driver or one too old, 100: no device) and a count of 0 are kNoDevice.
Status usable_device(std::int32_t cuda_error, std::string_view cuda_message, std::int32_t devices);

}  // namespace servecast::kernels
