// The end of a run: what was cut off is settled, and what must be conserved is checked.
#include <string>
#include <utility>

#include "sim/cluster.hpp"
#include "sim/error.hpp"

namespace servecast {

// Whether the horizon cut something off: requests, or arrivals that were still to come.
bool Cluster::stopped() const { return ended_ < requests_.size() || !arrivals_.empty(); }

void Cluster::stop() {
  for (const auto& node : nodes_) node->replica.stop(until_);
  for (const std::uint32_t request : held_) {
    requests_[request].time_in(Cause::kSlot) += until_ - requests_[request].arrived_at;
  }
}

void Cluster::check() {
  for (const auto& node : nodes_) node->replica.check_conservation();
  const bool moves = events_.least().at != kNever || next_interaction().at != kNever;
  if (!moves && ended_ < requests_.size()) throw StalledError(who_waits());
  little_.check(std::max(now_, last_end_));
  check_requests();
  check_transfers();
}

std::string Cluster::who_waits() const {
  if (nodes_.size() == 1) return nodes_.front()->replica.who_waits();
  std::string text = std::to_string(held_.size()) + " requests wait for a replica";
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i]->sent == nodes_[i]->ended + nodes_[i]->handed_over) continue;
    text.append("; replica ").append(std::to_string(i)).append(": ").append(nodes_[i]->replica.who_waits());
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
  for (const std::uint32_t request : held_) --sent[index_of(requests_[request].replica)];
  bool conserved = over == ended_;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = *nodes_[i];
    conserved = conserved && sent[i] == node.sent - node.handed_over && ended[i] == node.ended;
  }
  if (!conserved) throw SelfCheckError("requests are not conserved");
  check_tokens(emitted);
}

// What has left has come, or is on the way.
void Cluster::check_transfers() const {
  Bytes there = moved_.arrived;
  if (decode_) {
    for (const auto& [id, transfer] : decode_->on_the_way) there += transfer.handover.bytes;
  }
  if (there != moved_.started) throw SelfCheckError("transferred bytes are not conserved");
}

// `emitted`: by the requests that are over.
void Cluster::check_tokens(std::int64_t emitted) const {
  std::int64_t stamped = 0;
  for (const auto& node : nodes_) stamped += node->replica.state().emissions.tokens();
  const bool all_ended = ended_ == requests_.size();
  if (all_ended ? emitted == stamped : emitted <= stamped) return;
  throw SelfCheckError("tokens are not conserved: requests hold " + std::to_string(emitted) + ", steps emitted " +
                       std::to_string(stamped));
}

RunResult Cluster::result() {
  std::vector<ReplicaResult> replicas;
  LogHistogram gaps;
  for (const auto& node : nodes_) {
    const ReplicaState& state = node->replica.state();
    replicas.push_back({node->role, node->sent, node->replica.counters(), node->replica.timeline().samples(),
                        state.kv.usable(), state.kv.peak(), state.kv.block_size(), state.preemptions,
                        state.emissions.tokens()});
    gaps.add(state.emissions.gaps());
  }
  RunResult result = total_of(std::move(replicas));
  result.gaps = std::move(gaps);
  result.moved = moved_;
  result.stopped_at_horizon = stopped();
  result.ended_at = result.stopped_at_horizon ? until_ : last_end_;
  return result;
}

}  // namespace servecast
