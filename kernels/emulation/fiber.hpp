// A thread of execution with its own stack that runs until it hands over to another by itself. The switch costs some
// ten nanoseconds: own code on x86-64 and AArch64, ucontext elsewhere or with SERVECAST_FIBER_UCONTEXT (a hundred
// times slower). Known to the address and the thread sanitizer.
#pragma once

#include <cstddef>
#include <cstdint>

#if !defined(SERVECAST_FIBER_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define SERVECAST_FIBER_UCONTEXT 1
#endif

namespace servecast::kernels::emulation {

class Fiber {
 public:
  using Entry = void (*)();

  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  // Becomes the caller: where switches can come back to. Needs no stack of its own.
  void adopt_caller();

  // The next switch to this fiber begins `entry`, which must call entered() first and never return. `number` places
  // fibers' stacks differently in the cache.
  void prepare(Entry entry, unsigned number);

  // Hands over to `next`; returns when somebody switches back. Nobody may where this fiber `ends`.
  void switch_to(Fiber& next, bool ends = false);

  // The first thing a fiber does.
  static void entered();

  // Called in `caller`: this fiber has calls that will never return, and a sanitizer may forget them. What it did
  // comes before what the caller does next.
  void abandon(Fiber& caller);

 private:
  void map_stack();

  void* context_ = nullptr;  // the saved stack pointer, or a ucontext_t
  void* fake_stack_ = nullptr;
  void* tsan_ = nullptr;
  std::byte* mapping_ = nullptr;  // guard page, then stack
  const void* bottom_ = nullptr;  // what the address sanitizer has to know of the stack
  std::size_t bytes_ = 0;
  bool adopted_ = false;
};

}  // namespace servecast::kernels::emulation
