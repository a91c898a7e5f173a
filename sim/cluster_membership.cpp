// Replicas that fail, join, and are ordered or sent away by an autoscaler.
#include <algorithm>
#include <cassert>
#include <utility>

#include "sim/cluster.hpp"

namespace servecast {

void Cluster::start_membership(const Membership& membership) {
  assert(!decode_ || membership.autoscaler == nullptr);
  membership_ = &membership;
  for (const ReplicaId id : membership.not_at_first) {
    node(id).state = Node::State::kAway;
    loads_of(id).takes_requests(id, false);
  }
  if (membership.autoscaler != nullptr) looks_at_ = after(kStart, membership.look_every);
}

SimTime Cluster::next_change() const {
  if (membership_ == nullptr || all_over()) return kNever;
  const std::vector<Change>& changes = membership_->changes;
  SimTime next = next_change_ < changes.size() ? changes[next_change_].at : kNever;
  if (!starting_.empty()) next = std::min(next, starting_.begin()->first);
  if (!returning_.empty()) next = std::min(next, returning_.begin()->first);
  if (looks_at_ == kNever) return next;
  // A look that changes nothing where nothing else moves would be the first of infinitely many.
  const bool moves = next != kNever || !arrivals_.empty() || events_.least().at != kNever;
  return moves || !looked_in_vain_ ? std::min(next, looks_at_) : next;
}

// Nothing is open and nothing is to come: what changes then is of no matter.
bool Cluster::all_over() const { return ended_ == requests_.size() && arrivals_.empty(); }

void Cluster::changes_due() {
  bring_along(Moment{now_, Phase::kChange});
  if (all_over()) return;
  const std::vector<Change>& changes = membership_->changes;
  for (; next_change_ < changes.size() && changes[next_change_].at == now_; ++next_change_) {
    const Change& change = changes[next_change_];
    change.kind == ChangeKind::kFails ? fail(change.replica, change.retry) : order(change.replica, change.start);
  }
  for (; !starting_.empty() && starting_.begin()->first == now_; starting_.erase(starting_.begin())) {
    has_started(starting_.begin()->second);
  }
  while (!returning_.empty() && returning_.begin()->first == now_) {
    const std::uint32_t request = returning_.begin()->second;
    returning_.erase(returning_.begin());
    requests_[request].time_in(Cause::kPreempted) += now_.time_since_epoch();
    dispatch(request);
  }
  if (looks_at_ == now_) {
    scale();
    looks_at_ = after(now_, membership_->look_every);
  }
}

void Cluster::fail(ReplicaId id, const RetryPolicy& retry) {
  Node& failed = node(id);
  if (failed.state == Node::State::kAway || failed.state == Node::State::kOrdered) return;
  loads_of(id).takes_requests(id, false);
  const Replica::Failed was = failed.replica->fail(now_);
  for (const Replica::Lost& lost : was.lost) {
    loads_of(id).ended(id, requests_[lost.request].prompt);
    lose(id, lost, retry);
  }
  if (decode_) {
    cut_transfers(id, retry);
    if (failed.role == Role::kPrefill) withdraw(id, retry);
  }
  for (const Handover& offered : was.offered) {
    give_back(offered, id);
    requests_[offered.request].time_in(Cause::kTransferWait) -= now_.time_since_epoch();
    hand_on(offered, now_);
  }
  leave(id, now_);
}

// Its time is booked until now.
void Cluster::lose(ReplicaId at, const Replica::Lost& lost, const RetryPolicy& retry) {
  Request& request = requests_[lost.request];
  ++node(at).lost;
  request.emitted -= lost.in_flight;
  if (!retry.keeps_tokens || !request.streamed) start_anew(request);
  request.preemptions = 0;
  ++request.retries;
  request.time_in(Cause::kPreempted) -= now_.time_since_epoch();
  returning_.emplace(after(now_, retry.delay), lost.request);
}

// All that had been emitted is thrown away; the client gets its first token a second time.
void Cluster::start_anew(Request& request) {
  tokens_thrown_away_ += request.emitted;
  request.emitted = 0;
  request.first_token_at = request.last_token_at = kNever;
  request.max_itl = Duration{0};
}

void Cluster::join(ReplicaId id) {
  Node& joining = node(id);
  if (joining.state == Node::State::kTakes) return;
  if (joining.state == Node::State::kAway) joining.up_since = now_;
  if (joining.state == Node::State::kOrdered) --ordered_;
  joining.state = Node::State::kTakes;
  joining.busy_seen = joining.replica->busy_until(now_);
  loads_of(id).takes_requests(id, true);
  refresh(id);
  if (joining.role == Role::kDecode) hand_on_stranded();
  if (!held_.empty()) pull_at_ = now_;
}

// It is gone, and what it was is kept for the results; who comes back is a new one.
void Cluster::leave(ReplicaId id, SimTime at) {
  Node& gone = node(id);
  gone.up += at - gone.up_since;
  gone.state = Node::State::kAway;
  gone.past.push_back(std::exchange(gone.replica, make_replica(id)));
  specs_[index_of(id)].scheduler->restart();
  specs_[index_of(id)].executor->restart();
  refresh(id);
}

void Cluster::scale() {
  const FleetLoad load = fleet_load();
  const std::int64_t most = static_cast<std::int64_t>(nodes_.size());
  std::int64_t more =
      std::clamp<std::int64_t>(membership_->autoscaler->wanted(load), 1, most) - (load.taking + load.ordered);
  looked_in_vain_ = more <= 0;
  for (std::uint32_t i = 0; i < nodes_.size() && more > 0; ++i) {
    Node& candidate = *nodes_[i];
    if (candidate.state == Node::State::kDrains) {  // still here: it only has to stay
      join(ReplicaId{i});
      --more;
    } else if (candidate.state == Node::State::kAway) {
      order(ReplicaId{i}, membership_->provisioning);
      --more;
    }
  }
  for (std::uint32_t i = static_cast<std::uint32_t>(nodes_.size()); i-- > 0 && more < 0;) {
    if (nodes_[i]->state != Node::State::kTakes || loads_.view().count() == 1) continue;
    nodes_[i]->state = Node::State::kDrains;
    nodes_[i]->drains_since = now_;
    loads_.takes_requests(ReplicaId{i}, false);
    let_go(ReplicaId{i});
    ++more;
  }
}

// One that is there, or on its way, needs no time to start; one that drains only has to stay.
void Cluster::order(ReplicaId id, Duration start) {
  Node& ordered = node(id);
  if (start == Duration{0} || ordered.state == Node::State::kTakes || ordered.state == Node::State::kDrains) {
    return join(id);
  }
  if (ordered.state == Node::State::kOrdered) return;
  ++ordered_;
  ordered.state = Node::State::kOrdered;
  ordered.up_since = now_;  // it is paid for while it starts
  starting_.emplace(after(now_, start), Starting{id, ++ordered.orders});
}

void Cluster::has_started(const Starting& starting) {
  const Node& started = node(starting.replica);
  if (started.state == Node::State::kOrdered && started.orders == starting.order) join(starting.replica);
}

// A replica that takes nothing more goes when its last request has ended.
void Cluster::let_go(ReplicaId id) {
  const Node& draining = node(id);
  if (draining.state == Node::State::kDrains && draining.open() == 0)
    leave(id, std::max(draining.last_end, draining.drains_since));
}

FleetLoad Cluster::fleet_load() {
  FleetLoad load;
  const auto takes = static_cast<double>(loads_.view().count());
  for (const auto& each : nodes_) {
    if (each->state != Node::State::kTakes) continue;
    const Duration busy = each->replica->busy_until(now_);
    load.busy += seconds(busy - each->busy_seen) / (seconds(membership_->look_every) * takes);
    load.waiting += static_cast<double>(each->replica->waiting()) / takes;
    each->busy_seen = busy;
  }
  load.waiting += takes > 0 ? static_cast<double>(held_.size()) / takes : 0;
  load.taking = loads_.view().count();
  load.ordered = ordered_;
  return load;
}

}  // namespace servecast
