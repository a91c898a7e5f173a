#include "sim/transfer_network.hpp"

#include <algorithm>
#include <functional>

namespace servecast {

TransferId DirectLinks::start(SimTime now, ReplicaId /*from*/, ReplicaId /*to*/, Bytes bytes) {
  const TransferId id{started_++};
  running_.push_back({now + alone(bytes), id, bytes});
  std::push_heap(running_.begin(), running_.end(), std::greater<>{});
  return id;
}

void DirectLinks::cut(SimTime /*now*/, TransferId transfer) {
  std::erase_if(running_, [&](const End& end) { return end.id == transfer; });
  std::make_heap(running_.begin(), running_.end(), std::greater<>{});
}

std::span<const TransferId> DirectLinks::ended_by(SimTime now) {
  ended_.clear();
  while (!running_.empty() && running_.front().at <= now) {
    ended_.push_back(running_.front().id);
    arrived_ += running_.front().bytes;
    std::pop_heap(running_.begin(), running_.end(), std::greater<>{});
    running_.pop_back();
  }
  return ended_;
}

}  // namespace servecast
