// Orca's Algorithm 1 with several workers, read literally: the batch is whoever is not in flight, by arrival; with as
// many batches in flight as there are workers, the oldest one is waited for. Second by second, one sequence at a time,
// with no lanes. One memory slot a token, reserved for prompt and answer.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "tests/support/unit_run.hpp"

namespace servecast::test {

class PlainPipeline {
 public:
  explicit PlainPipeline(const Spec& spec)
      : spec_(spec), options_(std::get<OrcaOptions>(spec.options)), taken_(spec.stage_seconds.size()) {
    for (const Spec::Req& r : spec.requests) all_.push_back({&r, {}, false, false});
  }

  // By request. Requires that every request can run.
  std::vector<std::vector<std::int64_t>> run() {
    for (std::int64_t t = 0; !done(); ++t) {
      while (!in_flight_.empty() && in_flight_.front().ends == t) {
        end(in_flight_.front(), t);
        in_flight_.pop_front();
      }
      while (in_flight_.size() < spec_.stage_seconds.size()) {
        const std::vector<One*> batch = select(t);
        if (batch.empty()) break;
        launch(batch, t);
      }
    }
    std::vector<std::vector<std::int64_t>> emitted;
    for (const One& one : all_) emitted.push_back(one.emitted_at);
    return emitted;
  }

 private:
  struct One {
    const Spec::Req* asked;
    std::vector<std::int64_t> emitted_at;
    bool started, flies;
    [[nodiscard]] bool over() const { return static_cast<std::int64_t>(emitted_at.size()) == asked->output; }
    [[nodiscard]] std::int64_t reserves() const { return asked->prompt + asked->output; }
  };
  struct Batch {
    std::vector<One*> members;
    std::int64_t ends;
  };

  [[nodiscard]] bool done() const {
    return std::all_of(all_.begin(), all_.end(), [](const One& one) { return one.over(); });
  }
  std::vector<One*> select(std::int64_t t) {
    std::vector<One*> batch;
    for (One& one : all_) {
      if (static_cast<std::int64_t>(batch.size()) == options_.max_batch || one.asked->arrival > t) break;
      if (one.flies || one.over()) continue;
      if (!one.started) {
        if (reserved_ + one.reserves() > spec_.usable_blocks) break;
        reserved_ += one.reserves();
        one.started = true;
      }
      one.flies = true;
      batch.push_back(&one);
    }
    return batch;
  }
  // Stages and the ways between them serve one after another.
  void launch(const std::vector<One*>& batch, std::int64_t t) {
    for (std::size_t stage = 0; stage < taken_.size(); ++stage) {
      if (stage > 0) t = way_taken_[stage] = std::max(t, way_taken_[stage]) + spec_.handoff_seconds;
      t = taken_[stage] = std::max(t, taken_[stage]) + spec_.stage_seconds[stage];
    }
    in_flight_.push_back({batch, t});
  }
  void end(const Batch& batch, std::int64_t t) {
    for (One* one : batch.members) {
      one->flies = false;
      one->emitted_at.push_back(t);
      if (one->over()) reserved_ -= one->reserves();
    }
  }

  const Spec& spec_;
  const OrcaOptions& options_;
  std::vector<One> all_;
  std::deque<Batch> in_flight_;
  std::vector<std::int64_t> taken_, way_taken_ = std::vector<std::int64_t>(taken_.size());  // until then, by stage
  std::int64_t reserved_ = 0;
};

}  // namespace servecast::test
