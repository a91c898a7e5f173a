// A request that one replica has prefilled and another one is to decode.
#pragma once

#include <cstdint>

#include "sim/replica_id.hpp"
#include "sim/sequence.hpp"
#include "sim/time.hpp"
#include "sim/units.hpp"

namespace servecast {

enum class Role : std::uint8_t {
  kBoth,     // prefills and decodes
  kPrefill,  // hands a request over after its first token, unless that is the last
  kDecode,   // gets its requests from those that prefill
};

struct Handover {
  std::uint32_t request;
  ReplicaId from;
  SeqId sequence;        // there; it keeps its blocks until they have been pulled
  Tokens context;        // in the cache: the prompt, and what had been emitted before this prefill
  Bytes bytes;           // of their blocks
  SimTime at;            // when it had been prefilled
  Duration computed{0};  // the step that did so
};

// How a replica that decodes gets at the KV.
struct PullConfig {
  // It comes as soon as there is memory for it, whatever the replica does; the rest then has no meaning.
  bool pushed = false;
  // It pulls while the blocks of those that have come, or are coming, and don't decode yet are less than this share.
  double waiting_share = 0.05;
  bool overlapped = false;  // transfers run beside its steps; otherwise it waits for each
  Duration idle_poll{0};    // when idle it notices so much later that there is something to pull
};

}  // namespace servecast
