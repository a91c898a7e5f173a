#include "kernels/emulation/engine.hpp"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/emulation/launch_check.hpp"
#include "kernels/emulation/messages.hpp"
#include "kernels/emulation/sanitizers.hpp"

namespace servecast::kernels::emulation {
namespace {

constexpr std::size_t kSharedAlignment = 128;
constexpr int kPoison = 0xff;

struct Free {
  void operator()(void* pointer) const { std::free(pointer); }
};
using SharedMemory = std::unique_ptr<void, Free>;

// Not rounded up, so that the address sanitizer sees the first byte behind it.
SharedMemory allocate_shared(std::int64_t bytes) {
  void* memory = nullptr;
  if (bytes != 0 && posix_memalign(&memory, kSharedAlignment, static_cast<std::size_t>(bytes)) != 0) {
    throw std::bad_alloc();
  }
  return SharedMemory(memory);
}

uint3 unflatten(std::uint64_t number, const dim3& extent) {
  return {static_cast<unsigned>(number % extent.x), static_cast<unsigned>(number / extent.x % extent.y),
          static_cast<unsigned>(number / extent.x / extent.y)};
}

std::vector<std::uint64_t> shuffled(std::uint64_t count, RandomOrder& order) {
  std::vector<std::uint64_t> numbers(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t other = order.below(i + 1);
    numbers[i] = numbers[other];
    numbers[other] = i;
  }
  return numbers;
}

thread_local bool in_launch = false;

}  // namespace

Engine engine;
const Coordinates* running = nullptr;
LaunchState launch_state;

Counts run(const Options& options, const LaunchShape& shape, Body body) {
  if (in_launch) throw Error("a kernel launches a kernel");
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  in_launch = true;
  struct Done {
    ~Done() { in_launch = false; }
  } done;
  return engine.run(options, shape, body);
}

Counts Engine::run(const Options& options, const LaunchShape& shape, Body body) {
  check_launch(options, shape);
  if (threads_ == nullptr) threads_ = std::make_unique<std::array<Thread, kMaxThreads>>();
  options_ = options;
  shape_ = shape;
  body_ = body;
  counts_ = {};
  order_ = RandomOrder(options.seed);
  size_ = static_cast<unsigned>(shape.block.count());
  const SharedMemory shared = allocate_shared(shape.shared_bytes);
  shared_.begin_launch(shared.get(), shape.shared_bytes);
  launch_state = {{}, shape.block, shape.grid, static_cast<std::byte*>(shared.get())};
  caller_.adopt_caller();
  const std::uint64_t blocks = shape.grid.count();
  if (options.seed == 0) {
    for (std::uint64_t block = 0; block < blocks; ++block) run_block(block);
  } else {
    for (const std::uint64_t block : shuffled(blocks, order_)) run_block(block);
  }
  return counts_;
}

void Engine::run_block(std::uint64_t number) {
  launch_state.block_index = unflatten(number, shape_.grid);
  poison_shared();
  begin_threads();
  // Two addresses: a thread that ends must not come before a thread that starts later, or races would hide.
  sanitizers::release(&start_edge_);
  running_ = &next_or_deadlock();
  running = running_;
  caller_.switch_to(running_->fiber);
  running_ = nullptr;
  running = nullptr;
  sanitizers::acquire(&end_edge_);
  if (!failed_) return;
  failed_ = false;
  for (unsigned i = 0; i < size_; ++i) (*threads_)[i].fiber.abandon(caller_);
  throw Error(std::exchange(error_, {}));
}

void Engine::poison_shared() {
  if (!options_.poison_shared || shape_.shared_bytes == 0) return;
  std::memset(launch_state.shared, kPoison, static_cast<std::size_t>(shape_.shared_bytes));
}

void Engine::begin_threads() {
  ready_.clear();
  alive_ = size_;
  at_barrier_ = 0;
  for (Warp& warp : warps_) {
    warp.existing = warp.ended = 0;
    warp.used = 0;
  }
  for (unsigned i = 0; i < size_; ++i) {
    Thread& thread = (*threads_)[i];
    thread.index = unflatten(i, shape_.block);
    thread.lane = i % kWarpSize;
    thread.number = i;
    thread.warp = i / kWarpSize;
    thread.copies.clear();
    thread.fiber.prepare(&Engine::thread_main, i);
    warps_[thread.warp].existing |= 1U << thread.lane;
    make_ready(thread);
  }
}

// The body's exceptions end here: they cannot cross to another stack, and neither may a switch leave a handler.
void Engine::thread_main() {
  Fiber::entered();
  sanitizers::acquire(&engine.start_edge_);
  Message thrown;
  try {
    engine.body_.call(engine.body_.context);
  } catch (const std::exception& exception) {
    thrown = engine.about_self().add("an exception leaves the kernel: ").add(exception.what());
  } catch (...) {
    thrown = engine.about_self().add("something that is no std::exception leaves the kernel");
  }
  sanitizers::release(&engine.end_edge_);
  if (!thrown.text().empty()) engine.stop(thrown);
  engine.end_thread();
}

void Engine::end_thread() {
  Thread& me = self();
  me.state = State::kEnded;
  --alive_;
  leave_meetings(me);
  if (alive_ == 0) me.fiber.switch_to(caller_, true);
  if (at_barrier_ == alive_) release_barrier();
  hand_over(next_or_deadlock(), true);
}

// What the thread's locals own is lost: nothing unwinds its stack.
void Engine::stop(const Message& message) {
  failed_ = true;
  error_ = message.text();
  running_->fiber.switch_to(caller_, true);
  std::abort();  // nothing switches back
}

Message Engine::about_self() const {
  Message message("thread ");
  message.add(running_->index).add(" of block ").add(launch_state.block_index).add(": ");
  return message;
}

void Engine::fail(const Message& what, Place place) { stop(about_self().add(what.text()).add(", at ").add(place)); }

void Engine::require(int architecture, const char* instruction, Place place) {
  if (options_.architecture >= architecture) return;
  Message what(instruction);
  what.add(" needs sm_").add(static_cast<std::uint64_t>(architecture));
  fail(what.add(", this is sm_").add(static_cast<std::uint64_t>(options_.architecture)), place);
}

// Groups the waiting threads by what they wait in.
Message Engine::deadlock() const {
  Message message("deadlock in block ");
  message.add(launch_state.block_index).add(": no thread can go on");
  std::array<bool, kMaxThreads> told{};
  for (unsigned i = 0; i < size_; ++i) {
    const Thread& first = (*threads_)[i];
    if (first.state == State::kEnded || told[i]) continue;
    unsigned group = 0;
    for (unsigned j = i; j < size_; ++j) {
      const Thread& thread = (*threads_)[j];
      if (thread.state != first.state || thread.place != first.place) continue;
      told[j] = true;
      ++group;
    }
    message.add("; ").add(group).add(" in ").add(first.waits_in).add(", at ").add(first.place);
    message.add(", the first is thread ").add(first.index);
  }
  message.add("; ").add(size_ - alive_).add(" have ended");
  return message;
}

}  // namespace servecast::kernels::emulation
