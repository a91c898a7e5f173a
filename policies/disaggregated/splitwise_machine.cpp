#include <algorithm>
#include <utility>

#include "policies/disaggregated/splitwise.hpp"

namespace servecast {

// What a step has so far.
class SplitwiseMachine::Step {
 public:
  explicit Step(const SplitwiseOptions& options) : options_(options) {}

  [[nodiscard]] bool full() const { return count_ >= options_.max_batch; }
  // Whatever is first in a step fits.
  [[nodiscard]] bool takes(Tokens tokens) const {
    return !full() && (count_ == 0 || tokens_ + tokens <= options_.max_batch_tokens);
  }
  void add(Tokens tokens) {
    ++count_;
    tokens_ += tokens;
  }
  void decode(SeqId id) {
    add(Tokens{1});
    decodes.push_back(id);
  }
  [[nodiscard]] bool has(SeqId id) const { return std::find(decodes.begin(), decodes.end(), id) != decodes.end(); }

  std::vector<SeqId> decodes;

 private:
  const SplitwiseOptions& options_;
  std::int64_t count_ = 0;
  Tokens tokens_;
};

void SplitwiseMachine::restart() {
  waits_since_.clear();
  left_out_.clear();
}

void SplitwiseMachine::next_batch(ReplicaView& replica, SimTime, Batch& batch) {
  while (replica.has_ready()) replica.join_ready(RunningOrder::kArrival);
  while (static_cast<std::int64_t>(waits_since_.size()) < replica.waiting_count()) waits_since_.push_back(step_);
  choose(replica, batch);
  if (!batch.empty()) ++step_;
}

void SplitwiseMachine::choose(ReplicaView& replica, Batch& batch) {
  const std::int64_t most = std::min(options_.max_batch, options_.max_batch_tokens.count());
  if (!replica.has_waiting() && replica.decoding_count() <= most) {
    replica.decode_all(batch);
    if (batch.decode_all) batch.steady_above = Blocks{0};
    return;
  }
  Step step(options_);
  take_old(replica, batch, step);
  while (replica.has_waiting() && admit(replica, batch, step)) {
  }
  take_decodes(replica, step);
  commit(replica, batch, step);
}

// Who ran in the step before is not, however often it was left out before that.
bool SplitwiseMachine::is_old(RequestId request) const {
  const auto found = left_out_.find(request);
  return found != left_out_.end() && found->second.step == step_ - 1 && found->second.times >= options_.max_passed_over;
}

// The head of the queue, where it fits. What another machine has prefilled and waits for memory here goes before it.
bool SplitwiseMachine::admit(ReplicaView& replica, Batch& batch, Step& step) {
  const RequestView head = replica.head();
  const Blocks need = replica.blocks_of(head.leaves ? head.to_prefill() : head.prompt + head.max_tokens);
  if (need > replica.usable_blocks()) {
    replica.refuse_head(Refusal::kCache);
  } else if (!step.takes(head.to_prefill())) {
    batch.blocked_by = step.full() ? Blocker::kSlot : Blocker::kBudget;
    return false;
  } else if (replica.has_offered() || need > replica.free_blocks()) {
    batch.blocked_by = Blocker::kMemory;
    return false;
  } else {
    replica.admit_head(batch, need, head.to_prefill(), RunningOrder::kArrival);
    step.add(head.to_prefill());
  }
  waits_since_.pop_front();
  return true;
}

void SplitwiseMachine::take_old(ReplicaView& replica, Batch& batch, Step& step) {
  const auto admit_old = [&](std::optional<RequestId> before) {
    while (replica.has_waiting() && head_is_old() && (!before || replica.head().id < *before)) {
      if (!admit(replica, batch, step)) return;
    }
  };
  for (SeqId id = replica.first_running(); id != kNoSeq; id = replica.next_running(id)) {
    if (!replica.decodes(id) || !is_old(replica.request(id).id)) continue;
    admit_old(replica.request(id).id);
    if (!step.takes(Tokens{1})) return;
    step.decode(id);
  }
  admit_old(std::nullopt);
}

void SplitwiseMachine::take_decodes(ReplicaView& replica, Step& step) const {
  enum class Kind : std::uint8_t { kLeftOut, kRan, kNew };
  const auto kind = [&](const RequestView& request) {
    if (request.emitted == Tokens{1}) return Kind::kNew;
    const auto found = left_out_.find(request.id);
    return found != left_out_.end() && found->second.step == step_ - 1 ? Kind::kLeftOut : Kind::kRan;
  };
  for (const Kind wanted : {Kind::kLeftOut, Kind::kRan, Kind::kNew}) {
    for (SeqId id = replica.first_running(); id != kNoSeq && step.takes(Tokens{1}); id = replica.next_running(id)) {
      if (!replica.decodes(id)) continue;
      const RequestView request = replica.request(id);
      if (!is_old(request.id) && kind(request) == wanted) step.decode(id);
    }
  }
}

void SplitwiseMachine::commit(ReplicaView& replica, Batch& batch, const Step& step) {
  if (static_cast<std::int64_t>(step.decodes.size()) == replica.decoding_count()) {
    replica.decode_all(batch);
    return;
  }
  for (const SeqId id : step.decodes) replica.decode(batch, id);
  std::map<RequestId, LeftOut> still;
  for (SeqId id = replica.first_running(); id != kNoSeq; id = replica.next_running(id)) {
    if (!replica.decodes(id)) continue;
    const RequestId request = replica.request(id).id;
    const auto before = left_out_.find(request);
    LeftOut out = before == left_out_.end() ? LeftOut{} : before->second;
    if (!step.has(id)) out = {out.times + 1, step_};
    if (out.times > 0) still.emplace(request, out);
  }
  left_out_ = std::move(still);
}

}  // namespace servecast
