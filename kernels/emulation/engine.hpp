// The emulator's heart: the threads of the block that runs, their order, and their meetings. Internal to this folder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/emulation/async_copy.hpp"
#include "kernels/emulation/emulator.hpp"
#include "kernels/emulation/fiber.hpp"
#include "kernels/emulation/instructions.hpp"
#include "kernels/emulation/limits.hpp"
#include "kernels/emulation/messages.hpp"
#include "kernels/emulation/scheduler.hpp"
#include "kernels/emulation/shared_memory.hpp"

namespace servecast::kernels::emulation {

inline constexpr const char* kBarrierName = "__syncthreads";

enum class State : std::uint8_t { kReady, kAtBarrier, kAtWarpOperation, kEnded };

struct alignas(64) Thread : Coordinates {
  unsigned number = 0;  // in the block
  unsigned warp = 0;
  State state = State::kReady;
  const char* waits_in = "";
  Place place;
  Fiber fiber;
  CopyQueue copies;
};

// What the lanes of a warp do together. The last lane to arrive does the work for all of them.
struct WarpOperation {
  const char* name;
  // `arguments[lane]` is what each lane of `mask` brought; the results go there too.
  void (*work)(void* const* arguments, std::uint32_t mask);
  bool whole_warp = false;     // all 32 lanes must exist and take part
  bool allows_ended = false;   // the mask may name lanes that have ended
  bool orders_memory = false;  // among the lanes
};

// Threads meet again and again at the same barrier. A fast one arrives for the next time before a slow one has left,
// so odd and even times are two addresses to the thread sanitizer.
struct Edge {
  std::array<char, 2> address{};
  unsigned round = 0;
};

// Lanes that wait for each other in a warp operation.
struct Meeting {
  const WarpOperation* operation = nullptr;
  Place place;
  std::uint32_t mask = 0;
  std::uint32_t arrived = 0;  // 0: free
  unsigned round = 0;         // of the warp's edge
};

struct Warp {
  std::uint32_t existing = 0;
  std::uint32_t ended = 0;
  std::array<Meeting, kWarpSize> meetings{};
  unsigned used = 0;  // meetings behind it are free
  std::array<void*, kWarpSize> arguments{};
  Edge edge;
};

class Engine {
 public:
  Counts run(const Options& options, const LaunchShape& shape, Body body);

  void sync_threads(Place place);
  void meet(const WarpOperation& operation, std::uint32_t mask, void* argument, Place place);
  // Ends the launch with an Error about the running thread.
  [[noreturn]] void fail(const Message& what, Place place);
  [[noreturn]] void fail(std::string_view what, Place place) { fail(Message(what), place); }
  void require(int architecture, const char* instruction, Place place);

  [[nodiscard]] bool is_shared(const void* address, std::size_t bytes) { return shared_.contains(address, bytes); }
  [[nodiscard]] Thread& self() { return *running_; }
  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] Counts& counts() { return counts_; }

 private:
  static void thread_main();
  void run_block(std::uint64_t number);
  void begin_threads();
  void poison_shared();
  void end_thread();

  void make_ready(Thread& thread);
  Thread& next_or_deadlock();
  void hand_over(Thread& next, bool ends = false);
  void wait(State state, const char* waits_in, Place place);
  void release_barrier();
  void leave_meetings(Thread& thread);

  Meeting& join(Warp& warp, const WarpOperation& operation, std::uint32_t mask, Place place);
  void check_mask(const Warp& warp, const WarpOperation& operation, std::uint32_t mask, Place place);
  void complete(Warp& warp, Meeting& meeting);

  [[noreturn]] void stop(const Message& message);
  [[nodiscard]] Message about_self() const;
  [[nodiscard]] Message deadlock() const;

  Options options_;
  LaunchShape shape_;
  Body body_;
  Counts counts_;
  SharedMemoryMap shared_;
  RandomOrder order_{0};

  Fiber caller_;
  std::unique_ptr<std::array<Thread, kMaxThreads>> threads_;
  std::array<Warp, kMaxThreads / kWarpSize> warps_{};
  Thread* running_ = nullptr;
  ReadyQueue ready_;
  unsigned size_ = 0;   // threads of a block
  unsigned alive_ = 0;  // of them, not ended
  unsigned at_barrier_ = 0;
  Place barrier_place_;
  Edge barrier_edge_;
  char start_edge_ = 0;
  char end_edge_ = 0;
  bool failed_ = false;
  std::string error_;
};

extern Engine engine;

}  // namespace servecast::kernels::emulation
