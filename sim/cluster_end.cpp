// The end of a run: what was cut off is settled, and what must be conserved is checked.
#include <string>
#include <utility>

#include "sim/cluster.hpp"
#include "sim/error.hpp"

namespace servecast {

// Whether the horizon cut something off: requests, or arrivals that were still to come.
bool Cluster::stopped() const { return ended_ < requests_.size() || !arrivals_.empty(); }

void Cluster::stop() {
  for (const auto& node : nodes_) node->replica->stop(until_);
  for (const auto& [request, since] : held_) requests_[request].time_in(Cause::kSlot) += until_ - since;
  for (const auto& [back_at, request] : returning_) {
    requests_[request].time_in(Cause::kPreempted) += until_.time_since_epoch();
  }
  if (!decode_) return;
  for (const Handover& stranded : decode_->stranded) {
    requests_[stranded.request].time_in(Cause::kTransferWait) += until_.time_since_epoch();
  }
}

void Cluster::check() {
  for (const auto& node : nodes_) node->replica->check_conservation();
  const bool moves = events_.least().at != kNever || next_interaction().at != kNever;
  if (!moves && ended_ < requests_.size()) throw StalledError(who_waits());
  little_.check(std::max(now_, last_end_));
  check_requests();
  check_transfers();
}

std::string Cluster::who_waits() const {
  if (nodes_.size() == 1) return nodes_.front()->replica->who_waits();
  std::string text = std::to_string(held_.size()) + " requests wait for a replica";
  if (decode_) {
    text += " that prefills, " + std::to_string(decode_->stranded.size()) + " prefilled ones for one that decodes";
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i]->open() == 0) continue;
    text.append("; replica ").append(std::to_string(i)).append(": ").append(nodes_[i]->replica->who_waits());
  }
  return text;
}

// Every request is in one place: with one replica, or with none; and what they emitted, steps have emitted.
void Cluster::check_requests() const {
  std::vector<std::int64_t> sent(nodes_.size()), ended(nodes_.size());
  std::uint64_t over = 0;
  std::int64_t emitted = 0;
  for (std::uint32_t i = 0; i < requests_.size(); ++i) {
    const Request& request = requests_[i];
    ++sent[index_of(request.replica)];
    if (request.outcome == Outcome::kOpen) continue;
    ++over;
    ++ended[index_of(request.replica)];
    emitted += request.emitted;
  }
  for (const Held& held : held_) --sent[index_of(requests_[held.request].replica)];
  for (const auto& [back_at, request] : returning_) --sent[index_of(requests_[request].replica)];
  if (decode_) {
    for (const Handover& stranded : decode_->stranded) --sent[index_of(requests_[stranded.request].replica)];
  }
  bool conserved = over == ended_;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = *nodes_[i];
    conserved = conserved && sent[i] == node.sent - node.handed_over - node.lost && ended[i] == node.ended;
  }
  if (!conserved) throw SelfCheckError("requests are not conserved");
  check_tokens(emitted + tokens_thrown_away_);
}

// What has left has come, is on the way, or was cut off; and the network carried what was handed over, but for what had
// gone ahead, and nothing besides.
void Cluster::check_transfers() const {
  Bytes there = moved_.arrived + moved_.cut;
  TransferLedger ledger;
  if (decode_) {
    for (const auto& [id, transfer] : decode_->on_the_way) there += transfer.handover.bytes;
    ledger = decode_->network.ledger();
    if (ledger.running != decode_->on_the_way.size()) throw SelfCheckError("transfers are not conserved");
  }
  if (there != moved_.started || ledger.arrived + moved_.ahead != moved_.arrived) {
    throw SelfCheckError("transferred bytes are not conserved: " + std::to_string(moved_.arrived.count()) +
                         " have come, links carried " + std::to_string(ledger.arrived.count()));
  }
}

// `emitted`: by the requests that are over, and what was thrown away when replicas failed.
void Cluster::check_tokens(std::int64_t emitted) const {
  std::int64_t stamped = 0;
  for (const auto& node : nodes_) {
    stamped += node->replica->state().tokens_emitted();
    for (const auto& past : node->past) stamped += past->state().tokens_emitted();
  }
  const bool all_ended = ended_ == requests_.size();
  if (all_ended ? emitted == stamped : emitted <= stamped) return;
  throw SelfCheckError("tokens are not conserved: requests hold " + std::to_string(emitted) + ", steps emitted " +
                       std::to_string(stamped));
}

RunResult Cluster::result() {
  const bool stopped_early = stopped();
  const SimTime ended_at = stopped_early ? until_ : last_end_;
  std::vector<ReplicaResult> replicas;
  LogHistogram gaps;
  for (const auto& node : nodes_) {
    ReplicaResult all;
    for (const auto& past : node->past) add(*past, all, gaps);
    add(*node->replica, all, gaps);
    all.role = node->role;
    all.requests = node->sent;
    all.lost = node->lost;
    const bool away = node->state == Node::State::kAway;
    all.up = node->up + (away ? Duration{0} : std::max(Duration{0}, ended_at - node->up_since));
    replicas.push_back(std::move(all));
  }
  RunResult result = total_of(std::move(replicas));
  result.gaps = std::move(gaps);
  result.moved = moved_;
  result.stopped_at_horizon = stopped_early;
  result.ended_at = ended_at;
  return result;
}

}  // namespace servecast
