// Splitwise (Patel et al., ISCA 2024; schedulers.md C.7), as its simulator has it (Mutinifni/splitwise-sim): where a
// request is prefilled and where it is decoded are decided together, when it arrives; where a pool is short of
// machines, it borrows some of the other's, which then compute prompts and answers in the same steps.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "sim/dispatcher.hpp"
#include "sim/replica_view.hpp"
#include "sim/scheduler.hpp"

namespace servecast {

struct SplitwiseOptions {
  Tokens max_batch_tokens{2048};     // in one step; what is first in a step may be longer
  std::int64_t max_batch = 512;      // prompts and decodes in one step
  std::int64_t max_passed_over = 4;  // steps that left a request out; it then goes first
  Tokens max_pending_tokens{8192};   // at a machine on whose queue a prompt is put
  bool layer_wise = true;            // KV is sent layer by layer, while the next ones are computed
};

// One machine: prompts, whole, and decodes share its steps. Memory is reserved for prompt and answer, or for the prompt
// alone where another machine decodes, so that nobody is thrown out; a decode that a step leaves out keeps its place.
// Order of a step: who was left out of the step before and of `max_passed_over` so far, by arrival; prompts, first
// come, first served; decodes that the step before left out; those that it ran; those that never ran. Each stops at the
// first that does not fit.
class SplitwiseMachine final : public Scheduler {
 public:
  explicit SplitwiseMachine(const SplitwiseOptions& options) : options_(options) {}
  void next_batch(ReplicaView& replica, SimTime now, Batch& batch) override;
  void restart() override;

 private:
  struct LeftOut {
    std::int64_t times = 0;
    std::int64_t step = 0;  // the last time
  };
  class Step;

  void choose(ReplicaView& replica, Batch& batch);
  [[nodiscard]] bool is_old(RequestId request) const;
  [[nodiscard]] bool head_is_old() const { return step_ - waits_since_.front() >= options_.max_passed_over; }
  bool admit(ReplicaView& replica, Batch& batch, Step& step);
  void take_old(ReplicaView& replica, Batch& batch, Step& step);
  void take_decodes(ReplicaView& replica, Step& step) const;
  void commit(ReplicaView& replica, Batch& batch, const Step& step);

  SplitwiseOptions options_;
  std::int64_t step_ = 0;                  // the number of the coming one
  std::deque<std::int64_t> waits_since_;   // of the waiting prompts, in order: the first step that they could have had
  std::map<RequestId, LeftOut> left_out_;  // decodes
};

// Which machines a request goes to. It keeps the books that a cluster's scheduler keeps: the tokens pending at each
// machine (of prompts until they are computed, one for an answer until it ends) and the memory it has promised there
// (the prompt until its KV has left; prompt and max_tokens where it is decoded).
class SplitwiseDispatcher final : public Dispatcher {
 public:
  enum class Pool : std::uint8_t { kPrompt, kToken };
  struct Machine {
    Pool pool;
    Tokens memory;
  };

  // By replica.
  SplitwiseDispatcher(const SplitwiseOptions& options, const std::vector<Machine>& machines);

  Destinations place(const RoutedRequest& request, const RouterView& waiting) override;
  void reached(RequestId request, Milestone milestone) override;

 private:
  enum class Group : std::uint8_t { kPrompt, kMixed, kToken };
  struct Book {
    Group home;  // where it belongs; while it helps out it is mixed
    Group group;
    Tokens memory;
    Tokens pending, promised;
    std::int64_t open = 0;  // prompts and answers placed there that have not ended
  };
  struct Placed {
    Destinations at;
    Tokens prompt, whole;
    bool prefilled = false, moved = false;
  };
  using Load = Tokens Book::*;

  [[nodiscard]] Book& book(ReplicaId machine) { return books_[index_of(machine)]; }
  [[nodiscard]] const Book& book(ReplicaId machine) const { return books_[index_of(machine)]; }
  [[nodiscard]] std::optional<ReplicaId> least(std::optional<Group> group, Load load) const;
  [[nodiscard]] std::optional<ReplicaId> prompt_machine(Tokens prompt, const RouterView& waiting) const;
  [[nodiscard]] std::optional<ReplicaId> token_machine(Tokens whole) const;
  [[nodiscard]] std::optional<ReplicaId> borrow(Group from, Load load);
  void give_back(ReplicaId machine);
  void open(RequestId request, const Placed& placed);
  void prefilled(Placed& placed);
  void moved(Placed& placed);
  void close(ReplicaId machine);

  Tokens max_pending_;
  std::vector<Book> books_;
  std::map<RequestId, Placed> placed_;  // and not ended
};

}  // namespace servecast
