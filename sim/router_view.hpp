// What a router sees of the replicas, and the book in which the cluster keeps it up to date.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "sim/replica_id.hpp"
#include "sim/winner_tree.hpp"

namespace servecast {

enum class Load : std::uint8_t {
  kRequests,      // requests sent to a replica that have not ended
  kPromptTokens,  // the prompt tokens of those: what a router that does not know the answers' lengths can count
  kWaiting,       // requests in its queue, not started, as the replica reports
};

// The replicas that take requests, and the load that the router said it looks at. Every question costs at most
// O(log n) of their number.
class RouterView {
 public:
  explicit RouterView(std::uint32_t replicas) : loads_(replicas, kAbsent) {}

  // Those that take requests, in order of number.
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(taking_.size()); }
  [[nodiscard]] ReplicaId nth(std::uint32_t position) const { return taking_[position]; }
  // Of one of them, as the snapshot shows it.
  [[nodiscard]] std::int64_t load(ReplicaId replica) const { return loads_[index_of(replica)]; }
  // The one with the least load, of equals the one with the lowest number. Requires count() > 0.
  [[nodiscard]] ReplicaId least_loaded() const { return ReplicaId{loads_.first()}; }

 private:
  friend class ReplicaLoads;
  static constexpr std::int64_t kAbsent = std::numeric_limits<std::int64_t>::max();

  std::vector<ReplicaId> taking_;
  WinnerTree<std::int64_t> loads_;  // kAbsent: takes no requests
};

// Keeps the loads, and publishes them to the view: at once, or when told to where snapshots have an age.
class ReplicaLoads {
 public:
  // `watched`: the load that the view shows; nothing: none is kept.
  ReplicaLoads(std::uint32_t replicas, std::optional<Load> watched, bool live);

  [[nodiscard]] const RouterView& view() const { return view_; }
  [[nodiscard]] std::optional<Load> watched() const { return watched_; }

  void takes_requests(ReplicaId replica, bool takes);
  void sent(ReplicaId replica, std::int64_t prompt_tokens) { add(replica, +1, prompt_tokens); }
  void ended(ReplicaId replica, std::int64_t prompt_tokens) { add(replica, -1, prompt_tokens); }
  // Only where the waiting are watched.
  void waiting(ReplicaId replica, std::int64_t requests) {
    if (now_[index_of(replica)] != requests) set(replica, requests);
  }
  // The view shows the loads of this moment.
  void publish();

 private:
  void add(ReplicaId replica, std::int64_t requests, std::int64_t prompt_tokens) {
    if (!watched_) return;
    if (watched_ == Load::kRequests) set(replica, now_[index_of(replica)] + requests);
    if (watched_ == Load::kPromptTokens) set(replica, now_[index_of(replica)] + requests * prompt_tokens);
  }
  void set(ReplicaId replica, std::int64_t load);

  RouterView view_;
  std::optional<Load> watched_;
  bool live_;
  std::vector<std::int64_t> now_;
  std::vector<std::uint32_t> changed_;  // since the latest snapshot
  std::vector<char> is_changed_;
};

}  // namespace servecast
