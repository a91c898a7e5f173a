// Replicas that come and go while a run lasts.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/replica_id.hpp"
#include "sim/time.hpp"

namespace servecast {

enum class ChangeKind : std::uint8_t {
  kFails,  // at once: what it computes and all KV it holds are lost; one that is not there cannot
  kJoins,  // empty; takes requests once it has started
};

// What becomes of the requests of a replica that fails. None is lost: each is routed again.
struct RetryPolicy {
  Duration delay{0};  // until they are sent again
  bool keeps_tokens =
      false;  // what had been delivered is kept and prefilled with the prompt; otherwise all starts anew
};

struct Change {
  SimTime at;
  ChangeKind kind;
  ReplicaId replica;
  Duration start{0};       // of one that joins: until it takes requests; it counts as up meanwhile
  RetryPolicy retry = {};  // of one that fails
};

// What an autoscaler sees, over the interval since it looked before.
struct FleetLoad {
  std::int64_t taking = 0;   // replicas that take requests
  std::int64_t ordered = 0;  // and those that start
  double busy = 0;           // share of the time in which those that take requests ran a step
  double waiting = 0;        // requests waiting, for each of those
};

// The question of how many replicas there should be.
class Autoscaler {
 public:
  virtual ~Autoscaler() = default;
  // How many replicas should take requests or start from now on; at least one will.
  [[nodiscard]] virtual std::int64_t wanted(const FleetLoad& load) = 0;
};

struct Membership {
  std::vector<Change> changes;  // in order of time
  std::vector<ReplicaId>
      not_at_first;  // those that only join later; of those, an autoscaler takes the lowest number first
  Autoscaler* autoscaler = nullptr;  // may order every replica that is not there, and send away every one that is
  Duration look_every{std::chrono::seconds{15}};
  Duration provisioning{0};  // from the order of a replica until it takes requests
};

}  // namespace servecast
