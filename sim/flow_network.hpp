// Transfers that run at the same time and share links, max-min fairly: no transfer can go faster without slowing one
// that is no faster. Rates change when a transfer starts or ends, and only among those it shares links with, directly
// or through others; idle links and separate groups cost nothing.
// All arithmetic is on integers, so that every machine computes the same ends: a byte counts kUnitsPerByte, a rate is
// units per nanosecond.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/time.hpp"
#include "sim/units.hpp"
#include "sim/wide.hpp"

namespace servecast {

using LinkIndex = std::uint32_t;

// Of one transfer; never used again after its end.
enum class FlowId : std::uint64_t {};

class FlowNetwork {
 public:
  static constexpr std::int64_t kUnitsPerByte = std::int64_t{1} << 40;

  // Bytes per second of each link, one direction. Requires each in [1000, 5e15]; a flow in [0, 2^53] bytes.
  explicit FlowNetwork(std::span<const std::int64_t> bytes_per_second);

  // `links` are those the bytes cross, each once. No bytes or no links: it ends at `now`. Requires `now` not before
  // any earlier call's, and no end before it that advance() has not told.
  FlowId start(SimTime now, std::span<const LinkIndex> links, Bytes bytes);
  // Ends it early, with what it has not delivered. Requires a running flow.
  Bytes cancel(SimTime now, FlowId flow);
  // The next end, rounded up to a nanosecond; kNever when nothing runs.
  [[nodiscard]] SimTime next_completion();
  // The flows that end by `now`, by their end, then by their start. Valid until the next call.
  std::span<const FlowId> advance(SimTime now);

  [[nodiscard]] std::size_t running() const { return running_; }
  // Requires a running flow.
  [[nodiscard]] double bytes_per_second(FlowId flow) const;
  // Exact, in units: what was asked less what is left at `now`. Requires a running flow, or one that the latest
  // advance() told.
  [[nodiscard]] Wide delivered_units(SimTime now, FlowId flow) const;
  // Requires a flow that the latest advance() told.
  [[nodiscard]] SimTime ended_at(FlowId flow) const { return flow_of(flow).end; }
  // A small number for tables; no two running flows have the same.
  [[nodiscard]] static std::uint32_t slot_of(FlowId id) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(id));
  }

 private:
  using Slot = std::uint32_t;

  struct Flow {
    FlowId id{};
    std::vector<LinkIndex> links;
    Wide asked = 0;  // units
    Wide left = 0;   // at `since`
    SimTime since;
    SimTime end = kNever;
    std::int64_t rate = 0;  // units per nanosecond
    bool runs = false;
    std::uint64_t visit = 0;  // the last fill() that reached it
    bool fixed = false;
  };
  struct Link {
    std::int64_t capacity = 0;  // units per nanosecond
    std::vector<Slot> flows;    // that run over it
    std::uint64_t visit = 0;
    std::int64_t free = 0;   // during a fill: not yet given away
    std::int64_t waits = 0;  // during a fill: flows without a rate
  };
  struct End {
    SimTime at;
    FlowId id;
    friend bool operator>(const End& a, const End& b) { return a.at != b.at ? a.at > b.at : a.id > b.id; }
  };
  struct Share {
    std::int64_t rate;
    LinkIndex link;
    friend bool operator>(const Share& a, const Share& b) {
      return a.rate != b.rate ? a.rate > b.rate : a.link > b.link;
    }
  };

  [[nodiscard]] bool is_current(const End& end) const;
  [[nodiscard]] Flow& flow_of(FlowId id) { return flows_[slot_of(id)]; }
  [[nodiscard]] const Flow& flow_of(FlowId id) const { return flows_[slot_of(id)]; }
  Slot take_slot();
  void remove(SimTime now, Slot slot);
  void drop_stale_ends();
  // Gives new rates to all that share links with these, directly or not.
  void refill(SimTime now, std::span<const LinkIndex> links);
  void reach(std::span<const LinkIndex> links);
  void add_link(LinkIndex link);
  void fill(SimTime now);
  void fix(SimTime now, Slot slot, std::int64_t rate);

  std::vector<Flow> flows_;
  std::vector<Slot> free_slots_;
  std::vector<Link> links_;
  std::vector<End> ends_;  // a heap; entries that no longer hold are skipped
  std::vector<FlowId> ended_;
  std::uint64_t started_ = 0;
  std::uint64_t visits_ = 0;
  std::size_t running_ = 0;
  std::vector<LinkIndex> reached_links_;  // of the fill under way
  std::vector<Slot> reached_flows_;
  std::vector<Share> shares_;  // a heap, likewise
};

}  // namespace servecast
