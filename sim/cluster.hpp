// Several replicas behind a router.
//
// Replicas do not influence each other but through interactions: an arrival that is routed, a request that is pulled
// by a replica that got free, KV that goes from a replica that prefilled to one that decodes. Each replica has its own
// queue of events; before an interaction, replicas are brought along: every event of theirs that comes before it
// happens (by time, then phase, then the replica's number), and a replica's decode stretches run in one go up to it.
// Where nobody looks at the replicas at an interaction and their ends bring none, a replica is brought along only when
// something comes to it. Where ends bring interactions (a closed loop, requests held back) they must be told in order
// of time: then no replica runs past another's next event.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/arrival_queue.hpp"
#include "sim/dispatcher.hpp"
#include "sim/little.hpp"
#include "sim/replica.hpp"
#include "sim/router.hpp"
#include "sim/simulation.hpp"
#include "sim/winner_tree.hpp"

namespace servecast {

class Cluster final : Replica::Outside {
 public:
  Cluster(const ClusterConfig& config, std::span<const ReplicaSpec> replicas, Router& router, RequestTable& requests,
          ArrivalSource& source, const Progress& progress);

  // Once.
  RunResult run();

 private:
  struct Node {
    enum class State : std::uint8_t {
      kTakes,    // requests
      kDrains,   // those it has, and goes when the last has ended
      kAway,     // failed, sent away, or not there yet
      kOrdered,  // on its way
    };
    std::unique_ptr<Replica> replica;
    std::vector<std::unique_ptr<Replica>> past;  // what it was before it failed or left
    Role role = Role::kBoth;
    State state = State::kTakes;
    std::int64_t sent = 0, ended = 0, handed_over = 0, lost = 0;  // requests
    std::int64_t orders = 0;                                      // so far; a start belongs to one of them
    SimTime up_since = kStart, last_end = kStart, drains_since = kStart;
    Duration up{0};         // until it was last away
    Duration busy_seen{0};  // by the autoscaler, when it last looked

    [[nodiscard]] std::int64_t open() const { return sent - ended - handed_over - lost; }
  };
  struct Held {
    std::uint32_t request;
    SimTime since;
  };
  struct Starting {
    ReplicaId replica;
    std::int64_t order;  // of that replica's; one that is not its latest is of no matter any more
  };
  struct Transfer {
    Handover handover;
    ReplicaId to;
    SeqId sequence;  // there
    Bytes sent;      // over the network
  };
  // What is needed where prefill and decode have replicas of their own.
  struct Decode {
    TransferNetwork& network;
    ReplicaLoads loads;
    Router* router = nullptr;  // or
    const Placing* placing = nullptr;
    std::map<TransferId, Transfer> on_the_way = {};
    std::deque<Handover> stranded = {};  // prefilled while no replica decodes
  };

  // The run (cluster.cpp).
  [[nodiscard]] Moment next_interaction() const;
  void bring_along(const Moment& until);
  void bring_along(ReplicaId id, const Moment& until);
  [[nodiscard]] SimTime snapshot_before(const Moment& coming) const;
  void take_snapshot(const Moment& coming);
  void handle(const Moment& interaction);
  void arrivals_due();
  void dispatch(std::uint32_t request);
  void place(std::uint32_t request);
  void send(ReplicaId to, std::uint32_t request);
  void send_held();
  void refresh(ReplicaId id);
  void ended(ReplicaId replica, RequestId request, SimTime at) override;
  [[nodiscard]] RoutedRequest routed(std::uint32_t request) const;
  // Of the pool that the replica belongs to.
  [[nodiscard]] ReplicaLoads& loads_of(ReplicaId id) {
    return node(id).role == Role::kDecode ? decode_->loads : loads_;
  }

  // From prefill to decode (cluster_handover.cpp).
  void make_decode(const ClusterConfig& config);
  void reached(std::uint32_t request, Milestone milestone);
  void prefilled(RequestId request) override;
  [[nodiscard]] Bytes left_to_send(const Handover& handover, SimTime at) const;
  void handed_over(const Handover& handover, SimTime at) override;
  void hand_on(const Handover& handover, SimTime at);
  void hand_on_stranded();
  void pulls(ReplicaId to, SeqId sequence, const Handover& handover, SimTime at) override;
  void transfers_due();
  void release(const Handover& handover, SimTime at);
  void give_back(const Handover& handover, ReplicaId to);
  void cut_transfers(ReplicaId failed, const RetryPolicy& retry);
  void withdraw(ReplicaId failed, const RetryPolicy& retry);

  // Who is there (cluster_membership.cpp).
  void start_membership(const Membership& membership);
  [[nodiscard]] SimTime next_change() const;
  [[nodiscard]] bool all_over() const;
  void changes_due();
  void fail(ReplicaId id, const RetryPolicy& retry);
  void lose(ReplicaId at, const Replica::Lost& lost, const RetryPolicy& retry);
  void start_anew(Request& request);
  void join(ReplicaId id);
  void leave(ReplicaId id, SimTime at);
  void let_go(ReplicaId id);
  void scale();
  void order(ReplicaId id, Duration start);
  void has_started(const Starting& starting);
  [[nodiscard]] FleetLoad fleet_load();
  [[nodiscard]] std::unique_ptr<Replica> make_replica(ReplicaId id);

  // Its end (cluster_end.cpp).
  [[nodiscard]] bool stopped() const;
  void stop();
  void check();
  void check_requests() const;
  void check_transfers() const;
  void check_tokens(std::int64_t emitted) const;
  [[nodiscard]] std::string who_waits() const;
  [[nodiscard]] RunResult result();

  [[nodiscard]] Node& node(ReplicaId id) { return *nodes_[index_of(id)]; }

  std::vector<ReplicaSpec> specs_;
  ArrivalSource& source_;
  ArrivalQueue arrivals_;
  Router& router_;
  RequestTable& requests_;
  const Progress& progress_;
  SimTime until_;
  Duration snapshot_age_;
  bool in_order_;  // ends bring interactions
  bool takes_snapshots_;
  bool no_choice_;  // one replica, always there
  bool reports_;    // a router looks at what waits
  bool watches_;    // the router sees the replicas as they are

  SimTime now_ = kStart;  // of the latest interaction
  SimTime last_end_ = kStart;
  std::vector<std::unique_ptr<Node>> nodes_;
  WinnerTree<Moment> events_;  // by replica: its next event
  ReplicaLoads loads_;         // of those that arrivals are sent to
  std::optional<Decode> decode_;
  Moved moved_;
  SimTime snapshot_at_ = kStart;
  std::deque<Held> held_;                  // requests that no replica has, first come, first served
  SimTime pull_at_ = kNever;               // when the first of them is asked about again
  std::vector<std::uint64_t> affinities_;  // by request; shorter where the last ones have none
  const Membership* membership_ = nullptr;
  std::size_t next_change_ = 0;                            // of its changes
  std::multimap<SimTime, Starting> starting_;              // by when they take requests
  std::set<std::pair<SimTime, std::uint32_t>> returning_;  // requests whose replica failed, by when they are sent again
  SimTime looks_at_ = kNever;                              // the autoscaler, next
  bool looked_in_vain_ = false;
  std::int64_t ordered_ = 0;
  std::int64_t tokens_thrown_away_ = 0;
  LittlesLaw little_;
  std::uint64_t ended_ = 0;
};

}  // namespace servecast
