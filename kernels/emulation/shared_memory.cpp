#include "kernels/emulation/shared_memory.hpp"

#include <dlfcn.h>

namespace servecast::kernels::emulation {

// Static variables lie in the program or a library that it loaded. The loader is slow to ask, and mostly asked about
// the same page.
bool SharedMemoryMap::is_static(const void* address) {
  constexpr std::uintptr_t kPage = 4096;
  const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(address) / kPage;
  if (page == static_page_) return true;
  Dl_info object;
  if (dladdr(address, &object) == 0) return false;
  static_page_ = page;
  return true;
}

}  // namespace servecast::kernels::emulation
