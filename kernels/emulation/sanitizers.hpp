// The sanitizers' fiber and memory interfaces, used where the program is linked with one. The references are weak, so
// the same object serves all builds: the emulator itself is never compiled with -fsanitize=thread, since race
// detection must see the kernels' accesses and not the emulator's.
#pragma once

#include <cstddef>

extern "C" {
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_destroy_fiber(void* fiber);
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
[[gnu::weak]] void __tsan_acquire(void* address);
[[gnu::weak]] void __tsan_release(void* address);
[[gnu::weak]] void __tsan_read_range_pc(void* address, unsigned long bytes, void* code);
[[gnu::weak]] void __tsan_write_range_pc(void* address, unsigned long bytes, void* code);

[[gnu::weak]] void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, std::size_t bytes);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom, std::size_t* bytes);
[[gnu::weak]] void* __asan_region_is_poisoned(void* begin, std::size_t bytes);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* begin, std::size_t bytes);
}

namespace servecast::kernels::emulation::sanitizers {

// A synchronisation edge: what was done before a release is seen after a later acquire of the same address.
inline void acquire(void* address) {
  if (__tsan_acquire != nullptr) __tsan_acquire(address);
}
inline void release(void* address) {
  if (__tsan_release != nullptr) __tsan_release(address);
}

// Accesses that the emulator makes for the running thread. `code` is where the kernel asked for them: the line that a
// report shows.
inline void reads(const void* address, std::size_t bytes, void* code) {
  if (__tsan_read_range_pc != nullptr) __tsan_read_range_pc(const_cast<void*>(address), bytes, code);
}
inline void writes(void* address, std::size_t bytes, void* code) {
  if (__tsan_write_range_pc != nullptr) __tsan_write_range_pc(address, bytes, code);
}

// Whether the address sanitizer knows that some of it may not be touched.
inline bool forbidden(const void* address, std::size_t bytes) {
  return __asan_region_is_poisoned != nullptr && bytes != 0 &&
         __asan_region_is_poisoned(const_cast<void*>(address), bytes) != nullptr;
}

}  // namespace servecast::kernels::emulation::sanitizers
