#include "kernels/emulation/fiber.hpp"

#include <new>
#include <sys/mman.h>

#include "kernels/emulation/sanitizers.hpp"

#if defined(SERVECAST_FIBER_UCONTEXT)
#include <ucontext.h>
#endif

#if defined(__SANITIZE_THREAD__)
#error "compile the emulator without -fsanitize=thread; see sanitizers.hpp"
#endif

#if !defined(SERVECAST_FIBER_UCONTEXT)
// Saves the registers that a call preserves on the old stack, and takes the new stack's.
extern "C" void servecast_fiber_switch(void** from, void* to);

#if defined(__x86_64__)
__asm__(R"(
.pushsection .text
.globl servecast_fiber_switch
.hidden servecast_fiber_switch
.type servecast_fiber_switch, @function
servecast_fiber_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size servecast_fiber_switch, .-servecast_fiber_switch
.popsection
)");
#else
__asm__(R"(
.pushsection .text
.globl servecast_fiber_switch
.hidden servecast_fiber_switch
.type servecast_fiber_switch, %function
servecast_fiber_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size servecast_fiber_switch, .-servecast_fiber_switch
.popsection
)");
#endif
#endif

namespace servecast::kernels::emulation {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kStack = 256 * 1024;  // touched pages alone take memory
constexpr unsigned kSync = 0;               // for the thread sanitizer: this switch orders the two fibers
constexpr unsigned kNoSync = 1;             // and this one does not

// Stacks lie a whole number of pages apart, so that without this their hottest lines would share cache sets.
constexpr std::size_t kColours = 16;
constexpr std::size_t kColourBytes = 256;

Fiber* came_from = nullptr;

void unpoison(std::byte* stack) {
  if (__asan_unpoison_memory_region != nullptr) __asan_unpoison_memory_region(stack, kStack);
}

#if !defined(SERVECAST_FIBER_UCONTEXT)
// A frame as servecast_fiber_switch leaves it: registers of 0, so that a stack trace ends here, and `entry` to return
// to.
void* first_frame(std::byte* top, Fiber::Entry entry) {
  auto** words = reinterpret_cast<void**>(top);
#if defined(__x86_64__)
  constexpr int kEntry = -2;  // the word above it is `entry`'s own return address
  constexpr int kFrame = -8;
#else
  constexpr int kEntry = -9;  // x30
  constexpr int kFrame = -20;
#endif
  for (int word = kFrame; word < 0; ++word) words[word] = nullptr;
  words[kEntry] = reinterpret_cast<void*>(entry);
  return words + kFrame;
}
#endif

}  // namespace

Fiber::~Fiber() {
  if (tsan_ != nullptr && !adopted_) __tsan_destroy_fiber(tsan_);
  if (mapping_ != nullptr) munmap(mapping_, kPage + kStack);
#if defined(SERVECAST_FIBER_UCONTEXT)
  delete static_cast<ucontext_t*>(context_);
#endif
}

void Fiber::abandon(Fiber& caller) {
  if (mapping_ != nullptr) unpoison(mapping_ + kPage);
  if (tsan_ == nullptr) return;
  __tsan_switch_to_fiber(tsan_, kSync);
  __tsan_switch_to_fiber(caller.tsan_, kSync);
  __tsan_destroy_fiber(tsan_);
  tsan_ = nullptr;
}

void Fiber::adopt_caller() {
  adopted_ = true;
  if (__tsan_get_current_fiber != nullptr) tsan_ = __tsan_get_current_fiber();
#if defined(SERVECAST_FIBER_UCONTEXT)
  if (context_ == nullptr) context_ = new ucontext_t{};
#endif
}

void Fiber::map_stack() {
  void* mapping =
      mmap(nullptr, kPage + kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<std::byte*>(mapping);
  if (mprotect(mapping_, kPage, PROT_NONE) != 0) throw std::bad_alloc();
  unpoison(mapping_ + kPage);  // something else may have lain there
}

void Fiber::prepare(Entry entry, unsigned number) {
  if (mapping_ == nullptr) map_stack();
  std::byte* const stack = mapping_ + kPage;
  bottom_ = stack;
  bytes_ = kStack;
  fake_stack_ = nullptr;
  if (__tsan_create_fiber != nullptr && tsan_ == nullptr) tsan_ = __tsan_create_fiber(0);
  const std::size_t usable = kStack - number % kColours * kColourBytes;
#if defined(SERVECAST_FIBER_UCONTEXT)
  if (context_ == nullptr) context_ = new ucontext_t{};
  auto& context = *static_cast<ucontext_t*>(context_);
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = usable;
  context.uc_link = nullptr;
  makecontext(&context, entry, 0);
#else
  context_ = first_frame(stack + usable, entry);
#endif
}

void Fiber::switch_to(Fiber& next, bool ends) {
  came_from = this;
  if (__tsan_switch_to_fiber != nullptr) __tsan_switch_to_fiber(next.tsan_, kNoSync);
  if (__sanitizer_start_switch_fiber != nullptr) {
    __sanitizer_start_switch_fiber(ends ? nullptr : &fake_stack_, next.bottom_, next.bytes_);
  }
#if defined(SERVECAST_FIBER_UCONTEXT)
  swapcontext(static_cast<ucontext_t*>(context_), static_cast<ucontext_t*>(next.context_));
#else
  servecast_fiber_switch(&context_, next.context_);
#endif
  if (__sanitizer_finish_switch_fiber != nullptr) __sanitizer_finish_switch_fiber(fake_stack_, nullptr, nullptr);
}

void Fiber::entered() {
  if (__sanitizer_finish_switch_fiber == nullptr) return;
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
  if (!came_from->adopted_) return;
  came_from->bottom_ = bottom;
  came_from->bytes_ = bytes;
}

}  // namespace servecast::kernels::emulation
