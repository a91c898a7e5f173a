// One slot of a replica's pipeline: the sequences that go through it together, batch after batch. A replica that is
// not pipelined has one. Each sequence stays in its lane until it ends or is thrown out; what all lanes share (memory,
// who waits) is in ReplicaState.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/accounting.hpp"
#include "sim/batch.hpp"
#include "sim/cohort.hpp"
#include "sim/emissions.hpp"
#include "sim/planned_step.hpp"
#include "sim/sequence.hpp"

namespace servecast {

struct Lane {
  struct Running {
    PlannedStep plan;
    SimTime started_at;
    StepTimes times;
  };

  Lane(Tokens block_size, bool grows, std::optional<Tokens> window) : cohort(block_size, grows, window) {}

  Cohort cohort;
  RunningList running;
  std::int64_t prefilling = 0;  // running sequences whose prefill is not all planned
  StepTime step_time;
  Emissions emissions;

  Batch batch;                   // of its latest plan
  std::int64_t seen = -1;        // changes that plan knew of (ReplicaState::changes)
  std::array<Running, 2> slots;  // the step that runs, and the one planned while it runs (asynchronous scheduling)
  std::size_t current = 0;
  bool flies = false, planned_ahead = false;
  // In a pipeline.
  SimTime booked_until = kStart;  // its time
  std::int64_t returned = 0;      // when its latest step ended, counted in ends of steps
  std::int64_t round = 0;         // of planning, in which it was planned last

  // Finished sequences whose memory is held until the lane is empty (static batching), and their requests where they
  // are delivered only then.
  std::vector<SeqId> held_sequences;
  std::vector<std::uint32_t> held;
  Blocks held_blocks;
  std::int64_t held_tokens = 0;
};

}  // namespace servecast
