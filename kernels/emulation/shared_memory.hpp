// What addresses can be shared memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace servecast::kernels::emulation {

// Dynamic shared memory of the launch, or static variables, among which `__shared__` ones are. Other static variables
// pass too; heaps and stacks, a kernel's global memory and its local arrays, do not.
class SharedMemoryMap {
 public:
  void begin_launch(const void* dynamic, std::int64_t bytes) {
    dynamic_ = reinterpret_cast<std::uintptr_t>(dynamic);
    dynamic_bytes_ = static_cast<std::uintptr_t>(bytes);
  }

  [[nodiscard]] bool contains(const void* address, std::size_t bytes) {
    const auto offset = reinterpret_cast<std::uintptr_t>(address) - dynamic_;
    return (offset < dynamic_bytes_ && dynamic_bytes_ - offset >= bytes) || is_static(address);
  }

 private:
  [[nodiscard]] bool is_static(const void* address);

  std::uintptr_t dynamic_ = 0;
  std::uintptr_t dynamic_bytes_ = 0;
  std::uintptr_t static_page_ = 0;  // the last that was found static
};

}  // namespace servecast::kernels::emulation
