#include "kernels/cuda_module.hpp"

#include <doctest/doctest.h>

namespace servecast::kernels {
namespace {

TEST_CASE("every way in which CUDA says that there is no device is one message that begins alike") {
  for (const std::int32_t error : {34, 35, 100}) {
    const Status status = usable_device(error, "whatever CUDA says", 0);
    CHECK(status.code() == Status::Code::kNoDevice);
    CHECK(status.message().starts_with("no usable CUDA device: "));
  }
  CHECK(usable_device(0, "no error", 0).code() == Status::Code::kNoDevice);
}

TEST_CASE("a device that is there is usable, and any other error keeps CUDA's own words") {
  CHECK(usable_device(0, "no error", 1).ok());
  const Status status = usable_device(999, "unknown error", 0);
  CHECK(status.code() == Status::Code::kDevice);
  CHECK(status.message() == "unknown error (CUDA error 999)");
}

TEST_CASE("without the module there is no device, and the message names the file that was looked for") {
  std::unique_ptr<Backend> backend;
  const Status status = load_cuda_backend({"/nowhere"}, backend);
  CHECK(backend == nullptr);
  CHECK(status.code() == Status::Code::kNoDevice);
  CHECK(status.message().starts_with("no usable CUDA device: "));
  CHECK(status.message().find("servecast_cuda.so") != std::string::npos);
}

}  // namespace
}  // namespace servecast::kernels
