// How threads wait for each other: the block's barrier, and the warp operations' rendezvous.
#include <bit>

#include "kernels/emulation/engine.hpp"
#include "kernels/emulation/messages.hpp"
#include "kernels/emulation/sanitizers.hpp"

namespace servecast::kernels::emulation {
namespace {

void* address_of(Edge& edge, unsigned round) { return &edge.address[round % 2]; }

Message about_lane(const char* operation, const char* what, std::uint32_t lanes) {
  Message message(operation);
  message.add(what).add(static_cast<std::uint64_t>(std::countr_zero(lanes)));
  return message;
}

}  // namespace

void Engine::make_ready(Thread& thread) {
  thread.state = State::kReady;
  ready_.push(thread.number);
}

Thread& Engine::next_or_deadlock() {
  if (ready_.empty()) stop(deadlock());
  return (*threads_)[options_.seed == 0 ? ready_.pop() : ready_.pop(order_)];
}

void Engine::hand_over(Thread& next, bool ends) {
  Thread& me = *running_;
  if (&next == &me) return;
  running_ = &next;
  running = &next;
  ++counts_.switches;
  me.fiber.switch_to(next.fiber, ends);
}

void Engine::wait(State state, const char* waits_in, Place place) {
  Thread& me = *running_;
  me.state = state;
  me.waits_in = waits_in;
  me.place = place;
  hand_over(next_or_deadlock());
}

void Engine::release_barrier() {
  ++counts_.barriers;
  ++barrier_edge_.round;
  at_barrier_ = 0;
  for (unsigned i = 0; i < size_; ++i) {
    Thread& thread = (*threads_)[i];
    if (thread.state == State::kAtBarrier) make_ready(thread);
  }
}

void Engine::sync_threads(Place place) {
  if (at_barrier_ == 0) {
    barrier_place_ = place;
  } else if (barrier_place_ != place) {
    Message what("divergent __syncthreads: others of the block wait in another one, at ");
    what.add(barrier_place_).add("; this one is");
    fail(what, place);
  }
  void* const edge = address_of(barrier_edge_, barrier_edge_.round);
  sanitizers::release(edge);
  ++at_barrier_;
  if (at_barrier_ < alive_) {
    wait(State::kAtBarrier, kBarrierName, place);
  } else if (options_.seed == 0) {
    release_barrier();
  } else {
    self().state = State::kAtBarrier;  // the last to arrive need not be the first to leave
    release_barrier();
    hand_over(next_or_deadlock());
  }
  sanitizers::acquire(edge);
}

void Engine::check_mask(const Warp& warp, const WarpOperation& operation, std::uint32_t mask, Place place) {
  const std::uint32_t absent = operation.whole_warp ? ~warp.existing : 0U;
  const std::uint32_t ended = mask & warp.ended;
  if ((mask >> running->lane & 1U) == 0)
    fail(about_lane(operation.name, ": the mask lacks its own lane ", 1U << running->lane), place);
  if (operation.whole_warp && mask != ~0U)
    fail(about_lane(operation.name, ": needs the whole warp, the mask lacks lane ", ~mask), place);
  if (absent != 0)
    fail(about_lane(operation.name, ": needs the whole warp, the block does not have lane ", absent), place);
  if (ended != 0 && !operation.allows_ended) {
    fail(about_lane(operation.name, ": the mask names a lane that has ended, ", ended), place);
  }
}

Meeting& Engine::join(Warp& warp, const WarpOperation& operation, std::uint32_t mask, Place place) {
  Meeting* free = nullptr;
  for (unsigned i = 0; i < warp.used; ++i) {
    Meeting& meeting = warp.meetings[i];
    if (meeting.arrived == 0) {
      free = &meeting;
    } else if (meeting.mask == mask) {
      if (meeting.operation == &operation && meeting.place == place) return meeting;
      Message what(operation.name);
      what.add(": other lanes of the mask are in another warp operation, ").add(meeting.operation->name);
      what.add(", at ").add(meeting.place).add("; this one is");
      fail(what, place);
    }
  }
  if (free == nullptr) free = &warp.meetings[warp.used++];  // 32 lanes wait in 32 meetings at most
  *free = Meeting{&operation, place, mask, 0, warp.edge.round};
  return *free;
}

void Engine::complete(Warp& warp, Meeting& meeting) {
  ++counts_.warp_operations;
  const std::uint32_t arrived = meeting.arrived;
  meeting.operation->work(warp.arguments.data(), arrived);
  meeting.arrived = 0;
  if (meeting.operation->orders_memory) ++warp.edge.round;
  const std::uint32_t waiting = arrived & ~(1U << running->lane);
  const unsigned first = running_->warp * kWarpSize;
  for (std::uint32_t left = waiting; left != 0; left &= left - 1) {
    make_ready((*threads_)[first + static_cast<unsigned>(std::countr_zero(left))]);
  }
}

void Engine::meet(const WarpOperation& operation, std::uint32_t mask, void* argument, Place place) {
  Thread& me = self();
  Warp& warp = warps_[me.warp];
  check_mask(warp, operation, mask, place);
  Meeting& meeting = join(warp, operation, mask, place);
  void* const edge = operation.orders_memory ? address_of(warp.edge, meeting.round) : nullptr;
  if (edge != nullptr) sanitizers::release(edge);
  meeting.arrived |= 1U << me.lane;
  warp.arguments[me.lane] = argument;
  if (meeting.arrived == (mask & warp.existing & ~warp.ended)) {
    complete(warp, meeting);
  } else {
    wait(State::kAtWarpOperation, operation.name, place);
  }
  if (edge != nullptr) sanitizers::acquire(edge);
}

// Those who wait for a thread that ends wait in vain, or need not wait any longer.
void Engine::leave_meetings(Thread& thread) {
  Warp& warp = warps_[thread.warp];
  warp.ended |= 1U << thread.lane;
  for (unsigned i = 0; i < warp.used; ++i) {
    Meeting& meeting = warp.meetings[i];
    if (meeting.arrived == 0 || (meeting.mask >> thread.lane & 1U) == 0) continue;
    if (!meeting.operation->allows_ended) {
      Message what("ends while lanes of its warp wait for it in ");
      what.add(meeting.operation->name);
      fail(what, meeting.place);
    }
    if (meeting.arrived == (meeting.mask & warp.existing & ~warp.ended)) complete(warp, meeting);
  }
}

}  // namespace servecast::kernels::emulation
