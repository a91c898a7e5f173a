#include "sim/simulation.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "sim/error.hpp"
#include "sim/little.hpp"

namespace servecast {
namespace {

class Run final : Replica::Ends {
 public:
  Run(const SimulationConfig& config, RequestTable& requests, ArrivalSource& source, Scheduler& scheduler,
      StepExecutor& executor, RunObserver* observer, const Progress& progress)
      : source_(source),
        requests_(requests),
        progress_(progress),
        until_(config.horizon.value_or(kNever - Duration{1})),
        replica_(config.replica, requests, scheduler, executor, queue_, *this, observer) {}

  RunResult run() {
    pull();
    while (!queue_.empty() && queue_.next_time() <= until_) handle(queue_.pop());
    check();
    if (stopped()) replica_.stop(until_);
    return result();
  }

 private:
  void handle(const Event& event) {
    now_ = event.at;
    switch (event.kind) {
      case EventKind::kArrival:
        arrivals_due();
        break;
      case EventKind::kStepEnded:
        replica_.step_ended(now_);
        ask_to_schedule();
        break;
      case EventKind::kWake:
        if (replica_.idle()) ask_to_schedule();
        break;
      case EventKind::kSchedule:
        asked_ = false;
        if (replica_.ready(now_)) now_ = replica_.boundary(now_, until_);
        break;
    }
  }

  void ask_to_schedule() {
    if (asked_) return;
    asked_ = true;
    queue_.post(now_, EventKind::kSchedule);
  }

  // Takes what the source has: one arrival ahead of time from an open source, all it knows from a closed one.
  void pull() {
    while (auto arrival = source_.next()) {
      expect(*arrival);
      queue_.post(arrival->at, EventKind::kArrival);
      if (!source_.closed_loop()) break;
    }
  }

  void expect(const Arrival& arrival) {
    if (arrival.at < now_) throw SelfCheckError("an arrival source went back in time");
    const auto [least, most] = std::minmax({arrival.prompt, arrival.output, arrival.max_tokens});
    if (least < Tokens{1} || most >= Tokens{std::int64_t{1} << 31}) {
      throw SelfCheckError("an arrival source sent a length below 1 or beyond 31 bits");
    }
    pending_.push_back({arrival, pulled_++});
    std::push_heap(pending_.begin(), pending_.end(), later);
  }

  void arrivals_due() {
    while (!pending_.empty() && pending_.front().arrival.at == now_) {
      std::pop_heap(pending_.begin(), pending_.end(), later);
      const Arrival arrival = pending_.back().arrival;
      pending_.pop_back();
      const std::uint32_t index = requests_.size();
      requests_.add(arrival);
      little_.arrive(now_);
      replica_.arrive(index, now_);
      if (source_.closed_loop()) continue;
      if (auto next = source_.next()) {
        expect(*next);
        if (next->at != now_) queue_.post(next->at, EventKind::kArrival);
      }
    }
    if (replica_.idle()) ask_to_schedule();
  }

  void ended(RequestId request, SimTime at) override {
    little_.leave(at, at - requests_[static_cast<std::uint32_t>(request)].arrived_at);
    ++ended_;
    now_ = last_end_ = at;
    source_.finished(request, at);
    if (source_.closed_loop()) pull();
    if (progress_ && (ended_ & 0xfff) == 0) progress_(ended_, at);
  }

  void check() {
    replica_.check_conservation();
    if (queue_.empty() && ended_ < requests_.size()) throw StalledError(replica_.who_waits());
    little_.check(now_);
    std::int64_t completed = 0, emitted = 0;
    for (std::uint32_t i = 0; i < requests_.size(); ++i) {
      const Request& request = requests_[i];
      if (request.outcome == Outcome::kOpen) continue;
      ++completed;
      emitted += request.emitted;
    }
    if (completed != static_cast<std::int64_t>(ended_)) throw SelfCheckError("requests are not conserved");
    const bool all_ended = ended_ == requests_.size();
    const std::int64_t stamped = replica_.state().emissions.tokens();
    if (all_ended ? emitted != stamped : emitted > stamped) {
      throw SelfCheckError("tokens are not conserved: requests hold " + std::to_string(emitted) + ", steps emitted " +
                           std::to_string(stamped));
    }
  }

  // Whether the horizon cut something off: requests, or arrivals that were still to come.
  [[nodiscard]] bool stopped() const { return ended_ < requests_.size() || !pending_.empty(); }

  RunResult result() {
    RunResult result;
    result.counters = replica_.counters();
    result.gaps = replica_.state().emissions.gaps();
    result.timeline = replica_.timeline().samples();
    result.stopped_at_horizon = stopped();
    result.ended_at = result.stopped_at_horizon ? until_ : last_end_;
    result.usable_blocks = replica_.state().kv.usable();
    result.peak_blocks = replica_.state().kv.peak();
    result.block_size = replica_.state().kv.block_size();
    result.preemptions = replica_.state().preemptions;
    result.tokens_emitted = replica_.state().emissions.tokens();
    return result;
  }

  struct Pending {
    Arrival arrival;
    std::uint64_t order;  // in which the source gave them: it breaks ties
  };
  static bool later(const Pending& a, const Pending& b) {
    return std::tie(a.arrival.at, a.order) > std::tie(b.arrival.at, b.order);
  }

  ArrivalSource& source_;
  RequestTable& requests_;
  const Progress& progress_;
  SimTime until_;
  SimTime now_ = kStart;
  SimTime last_end_ = kStart;
  EventQueue queue_;
  std::vector<Pending> pending_;
  std::uint64_t pulled_ = 0;
  LittlesLaw little_;
  std::uint64_t ended_ = 0;
  bool asked_ = false;
  Replica replica_;
};

}  // namespace

RunResult simulate(const SimulationConfig& config, RequestTable& requests, ArrivalSource& source, Scheduler& scheduler,
                   StepExecutor& executor, RunObserver* observer, const Progress& progress) {
  return Run(config, requests, source, scheduler, executor, observer, progress).run();
}

}  // namespace servecast
