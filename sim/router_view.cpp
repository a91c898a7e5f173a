#include "sim/router_view.hpp"

#include <algorithm>

namespace servecast {

ReplicaLoads::ReplicaLoads(std::uint32_t replicas, std::optional<Load> watched, bool live)
    : view_(replicas), watched_(watched), live_(live), now_(replicas), is_changed_(replicas) {}

void ReplicaLoads::takes_requests(ReplicaId replica, bool takes) {
  std::vector<ReplicaId>& taking = view_.taking_;
  const auto at = std::lower_bound(taking.begin(), taking.end(), replica);
  const bool present = at != taking.end() && *at == replica;
  if (takes && !present) taking.insert(at, replica);
  if (!takes && present) taking.erase(at);
  view_.loads_.set(index_of(replica), takes ? now_[index_of(replica)] : RouterView::kAbsent);
}

void ReplicaLoads::set(ReplicaId replica, std::int64_t load) {
  const std::uint32_t index = index_of(replica);
  now_[index] = load;
  if (live_) {
    if (view_.loads_[index] != RouterView::kAbsent) view_.loads_.set(index, load);
  } else if (is_changed_[index] == 0) {
    is_changed_[index] = 1;
    changed_.push_back(index);
  }
}

void ReplicaLoads::publish() {
  for (const std::uint32_t index : changed_) {
    is_changed_[index] = 0;
    if (view_.loads_[index] != RouterView::kAbsent) view_.loads_.set(index, now_[index]);
  }
  changed_.clear();
}

}  // namespace servecast
