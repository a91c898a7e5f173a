// SGLang's scheduler, first come first served and without its prefix cache (schedulers.md C.8): prefill
// batches go before decodes, admission estimates the memory that running requests will still take, and
// decodes that run out of memory are retracted.
#pragma once

#include <vector>

#include "sim/replica_view.hpp"
#include "sim/scheduler.hpp"

namespace servecast {

struct SglangOptions {
  Tokens chunked_prefill_size{8192};
  Tokens max_prefill_tokens{16384};
  std::int64_t max_running_requests = 2048;
  double new_token_ratio = 0.7;              // share of the outstanding answers that admission reserves, at first
  double min_new_token_ratio = 0.098;        // and at last: 0.14 of the first value
  double ratio_decay = (0.7 - 0.098) / 600;  // per decode step
  Tokens clip_max_new_tokens{4096};          // longest answer that admission reckons with
  bool mixed_chunk = false;                  // decodes ride along with prefill chunks
};

class SglangScheduler final : public Scheduler {
 public:
  explicit SglangScheduler(const SglangOptions& options) : options_(options), ratio_(options.new_token_ratio) {}
  void next_batch(ReplicaView& replica, SimTime now, Batch& batch) override;
  void on_finish() override {
    for (Full& slot : full_) slot.is = false;
  }
  void restart() override { *this = SglangScheduler(options_); }

 private:
  // The latest attempt found no room; cleared when a request finishes.
  struct Full {
    bool is = false;
    Blocker of = Blocker::kNone;
  };
  struct Room {
    double total;  // tokens that may still be promised
    Tokens chunk;  // tokens that the step may still prefill
    Tokens input;  // and those of whole prompts
  };

  [[nodiscard]] Room room(const ReplicaView& replica) const;
  void prefill(ReplicaView& replica, Batch& batch);
  void continue_chunked(ReplicaView& replica, Batch& batch, Room& left);
  bool admit_one(ReplicaView& replica, Batch& batch, Room& left);
  void set_full(const ReplicaView& replica, Blocker of) { full_[replica.slot()] = {true, of}; }
  [[nodiscard]] bool chunked_here(const ReplicaView& replica) const {
    return chunked_ != kNoSeq && chunked_slot_ == replica.slot();
  }
  void decode(ReplicaView& replica, Batch& batch);
  void retract(ReplicaView& replica);
  [[nodiscard]] Tokens outstanding(const RequestView& request) const;

  SglangOptions options_;
  double ratio_;
  std::vector<Full> full_;        // by slot of the pipeline
  SeqId chunked_ = kNoSeq;        // the one prompt that is cut over several steps
  std::size_t chunked_slot_ = 0;  // and the slot that it is in
};

}  // namespace servecast
