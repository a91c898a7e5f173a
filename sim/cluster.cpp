#include "sim/cluster.hpp"

#include <algorithm>

namespace servecast {
namespace {

// A dispatcher sees what waits, as it is.
std::optional<Load> looks_at(const ClusterConfig& config, const Router& router) {
  return config.placing != nullptr ? Load::kWaiting : router.looks_at();
}

}  // namespace

Cluster::Cluster(const ClusterConfig& config, std::span<const ReplicaSpec> replicas, Router& router,
                 RequestTable& requests, ArrivalSource& source, const Progress& progress)
    : specs_(replicas.begin(), replicas.end()),
      source_(source),
      arrivals_(source),
      router_(router),
      requests_(requests),
      progress_(progress),
      until_(config.horizon.value_or(kNever - Duration{1})),
      snapshot_age_(router.holds() ? Duration{0} : config.snapshot_age),
      in_order_(source.closed_loop() || router.holds() || config.disaggregation != nullptr ||
                config.placing != nullptr),
      takes_snapshots_(router.looks_at().has_value() && snapshot_age_ > Duration{0}),
      watches_(looks_at(config, router).has_value() && !takes_snapshots_),
      events_(replicas.size(), Moment{}),
      loads_(static_cast<std::uint32_t>(replicas.size()), looks_at(config, router), snapshot_age_ == Duration{0}) {
  make_decode(config);
  no_choice_ = replicas.size() == 1 && !router.holds() && config.membership == nullptr && !decode_;
  reports_ = loads_.watched() == Load::kWaiting || (decode_ && decode_->loads.watched() == Load::kWaiting);
  for (std::uint32_t i = 0; i < replicas.size(); ++i) {
    const ReplicaSpec& spec = replicas[i];
    nodes_.push_back(std::make_unique<Node>());
    nodes_.back()->replica = make_replica(ReplicaId{i});
    nodes_.back()->role = spec.config.role;
    loads_.takes_requests(ReplicaId{i}, spec.config.role != Role::kDecode);
    if (decode_) decode_->loads.takes_requests(ReplicaId{i}, spec.config.role == Role::kDecode);
  }
  if (config.membership != nullptr) start_membership(*config.membership);
}

std::unique_ptr<Replica> Cluster::make_replica(ReplicaId id) {
  const ReplicaSpec& spec = specs_[index_of(id)];
  Outside& outside = *this;
  return std::make_unique<Replica>(id, spec.config, requests_, *spec.scheduler, *spec.executor, outside, spec.observer);
}

RunResult Cluster::run() {
  arrivals_.pull(now_);
  for (;;) {
    if (in_order_ || watches_) bring_along(Moment{});
    const Moment next = next_interaction();
    if (next.at > until_) {
      bring_along(Moment{});
      if (next_interaction().at > until_) break;
    } else {
      take_snapshot(next);
      handle(next);
    }
  }
  check();
  if (stopped()) stop();
  return result();
}

Moment Cluster::next_interaction() const {
  Moment next = std::min(Moment{arrivals_.next_time(), Phase::kArrive}, Moment{pull_at_, Phase::kPull});
  if (membership_ != nullptr) next = std::min(next, Moment{next_change(), Phase::kChange});
  return decode_ ? std::min(next, Moment{decode_->network.next_look(), Phase::kTransfer}) : next;
}

// Lets all events of all replicas happen that come before `until` and before the next interaction.
void Cluster::bring_along(const Moment& until) {
  for (;;) {
    const Moment limit = std::min(until, next_interaction());
    if (!(events_.least() < limit) || events_.least().at > until_) return;
    bring_along(ReplicaId{events_.first()}, limit);
  }
}

// The same for one replica; one event where ends must be told in order.
void Cluster::bring_along(ReplicaId id, const Moment& until) {
  if (!(events_[index_of(id)] < until)) return;
  Replica& replica = *node(id).replica;
  next_ = until_ < until.at ? until_ + Duration{1} : until.at;
  if (in_order_) {
    take_snapshot(events_.least());
    next_ = std::min(next_, events_.runner_up(Moment{}).at);
    if (takes_snapshots_) next_ = std::min(next_, after(snapshot_before(events_.least()), snapshot_age_));
    replica.handle_next();
  } else {
    for (Moment next = replica.next_event(); next < until && next.at <= until_; next = replica.next_event()) {
      replica.handle_next();
    }
  }
  refresh(id);
  if (membership_ != nullptr) let_go(id);
}

void Cluster::refresh(ReplicaId id) {
  const Replica& replica = *node(id).replica;
  const Moment next = replica.next_event();
  if (next != events_[index_of(id)]) events_.set(index_of(id), next);
  if (!reports_) return;
  if (loads_.watched() == Load::kWaiting) loads_.waiting(id, replica.waiting());
  if (decode_ && decode_->loads.watched() == Load::kWaiting) decode_->loads.waiting(id, replica.waiting_to_decode());
}

SimTime Cluster::snapshot_before(const Moment& coming) const {
  const SimTime at = kStart + (coming.at - kStart) / snapshot_age_ * snapshot_age_;
  return Moment{at, Phase::kArrive} <= coming ? at : at - snapshot_age_;
}

// Snapshots show what has happened before the arrivals of their instant; only the latest one before something is routed
// is ever seen.
void Cluster::take_snapshot(const Moment& coming) {
  if (!takes_snapshots_ || snapshot_before(coming) <= snapshot_at_) return;
  snapshot_at_ = snapshot_before(coming);
  if (!in_order_) bring_along(Moment{snapshot_at_, Phase::kArrive});
  loads_.publish();
}

void Cluster::handle(const Moment& interaction) {
  now_ = interaction.at;
  if (interaction.phase == Phase::kTransfer) {
    transfers_due();
  } else if (interaction.phase == Phase::kChange) {
    changes_due();
  } else if (interaction.phase == Phase::kArrive) {
    arrivals_due();
  } else {
    send_held();
  }
}

void Cluster::arrivals_due() {
  while (arrivals_.next_time() == now_) {
    const Arrival arrival = arrivals_.pop();
    const std::uint32_t request = requests_.size();
    requests_.add(arrival);
    if (arrival.affinity != 0) {
      affinities_.resize(request + std::size_t{1});
      affinities_[request] = arrival.affinity;
    }
    little_.arrive(now_);
    dispatch(request);
    if (!source_.closed_loop()) arrivals_.pull(now_);
  }
}

RoutedRequest Cluster::routed(std::uint32_t request) const {
  const Request& r = requests_[request];
  const std::uint64_t known = request < affinities_.size() ? affinities_[request] : 0;
  const std::uint64_t affinity = known != 0 ? known : ~std::uint64_t{request};  // apart from those that sources give
  return {RequestId{request}, r.arrived_at, Tokens{r.prompt}, Tokens{r.max_tokens}, affinity};
}

void Cluster::dispatch(std::uint32_t request) {
  if (decode_ && decode_->placing != nullptr) return place(request);
  if (no_choice_) return send(ReplicaId{0}, request);
  if (held_.empty() && loads_.view().count() > 0) {
    if (const auto replica = router_.route(routed(request), loads_.view())) {
      send(*replica, request);
      return;
    }
  }
  held_.push_back({request, now_});
}

void Cluster::send_held() {
  pull_at_ = kNever;
  while (!held_.empty() && loads_.view().count() > 0) {
    const auto [request, since] = held_.front();
    const auto replica = router_.route(routed(request), loads_.view());
    if (!replica) return;
    held_.pop_front();
    requests_[request].time_in(Cause::kSlot) += now_ - since;
    send(*replica, request);
  }
}

void Cluster::send(ReplicaId to, std::uint32_t request) {
  Node& target = node(to);
  if (!in_order_) bring_along(to, {now_, Phase::kArrive});
  ++target.sent;
  loads_.sent(to, requests_[request].prompt);
  target.replica->arrive(request, now_);
  refresh(to);
}

void Cluster::ended(ReplicaId replica, RequestId request, SimTime at) {
  const Request& gone = requests_[static_cast<std::uint32_t>(request)];
  ++node(replica).ended;
  node(replica).last_end = at;
  loads_of(replica).ended(replica, gone.prompt);
  little_.leave(at, at - gone.arrived_at);
  reached(static_cast<std::uint32_t>(request), Milestone::kEnded);
  ++ended_;
  last_end_ = std::max(last_end_, at);
  source_.finished(request, at);
  if (in_order_) {
    now_ = at;
    if (source_.closed_loop()) arrivals_.pull(at);
    if (!held_.empty()) pull_at_ = std::min(pull_at_, at);
    next_ = std::min(next_, next_interaction().at);
  }
  if (progress_ && (ended_ & 0xfff) == 0) progress_(ended_, at);
}

}  // namespace servecast
