// The rules of vLLM V0, V1 and Sarathi once more, one sequence at a time and with nothing clever: what the engine's
// cohorts, stretches and planning ahead must come to. Steps last 1 s. Knows asynchronous scheduling, V1's longest
// chunk and V1's watermark, which the oracle beside the committed answers does not.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "tests/support/unit_run.hpp"

namespace servecast::test {

class PlainEngine {
 public:
  explicit PlainEngine(const Spec& spec) : spec_(spec), free_(spec.usable_blocks) {
    for (const Spec::Req& r : spec.requests) all_.push_back({all_.size(), r.arrival, r.prompt, r.output});
    for (One& one : all_) waiting_.push_back(&one);
  }

  struct Answer {
    std::vector<std::vector<std::int64_t>> emitted_at;
    std::int64_t preemptions = 0;
  };

  // Requires that every request can run.
  Answer run() {
    std::optional<Step> ahead;
    for (std::int64_t t = 0; !done();) {
      std::optional<Step> now = ahead ? std::move(ahead) : plan(t);
      ahead.reset();
      if (now && spec_.async) ahead = plan(t);
      ++t;
      if (now) end(*now, t);
    }
    Answer answer;
    for (const One& one : all_) answer.emitted_at.push_back(one.emitted_at);
    answer.preemptions = preemptions_;
    return answer;
  }

 private:
  struct One {
    std::size_t number;
    std::int64_t arrival, prompt, output;
    std::int64_t computed = 0, planned = 0, blocks = 0, target = prompt;
    std::vector<std::int64_t> emitted_at = {};
    [[nodiscard]] std::int64_t known() const { return prompt + planned; }
    [[nodiscard]] bool said_all() const { return planned >= output; }  // its last token may still be on its way
  };
  struct Step {
    std::vector<One*> emitters;
  };

  [[nodiscard]] std::int64_t blocks_of(std::int64_t tokens) const {
    return (tokens + spec_.block_size - 1) / spec_.block_size;
  }
  [[nodiscard]] std::int64_t watermark(double share) const {
    return static_cast<std::int64_t>(share * static_cast<double>(spec_.usable_blocks));
  }
  [[nodiscard]] bool done() const {
    return std::all_of(all_.begin(), all_.end(),
                       [](const One& one) { return static_cast<std::int64_t>(one.emitted_at.size()) == one.output; });
  }
  [[nodiscard]] One* head(std::int64_t t) const {
    return waiting_.empty() || waiting_.front()->arrival > t ? nullptr : waiting_.front();
  }
  [[nodiscard]] std::int64_t running() const { return static_cast<std::int64_t>(running_.size()); }

  void compute(One& one, std::int64_t tokens, std::int64_t blocks_owned) {
    free_ -= blocks_owned - one.blocks;
    one.blocks = blocks_owned;
    one.computed += tokens;
    step_.push_back(&one);
  }
  void admit(One& one, std::int64_t tokens, std::int64_t blocks_owned) {
    waiting_.erase(waiting_.begin());
    running_.push_back(&one);
    compute(one, tokens, blocks_owned);
  }
  // Throws out the last of the running; true when it was `one`.
  bool drop_last(const One& one) {
    One& victim = *running_.back();
    running_.pop_back();
    free_ += victim.blocks;
    victim.blocks = 0;
    dropped_ = true;
    if (victim.said_all()) return false;
    victim.computed = 0;
    victim.target = victim.known();
    waiting_.insert(waiting_.begin(), &victim);
    preempted_ = true;
    ++preemptions_;
    return &victim == &one;
  }
  bool free_one_block(const One& one) {
    while (free_ < 1) {
      if (drop_last(one)) return false;
    }
    return true;
  }
  void sort_by_arrival() {
    std::sort(running_.begin(), running_.end(), [](const One* a, const One* b) { return a->number < b->number; });
  }

  void plan_v1(const VllmV1Options& o, std::int64_t t) {
    std::int64_t budget = o.max_num_batched_tokens.count();
    const auto chunk = [&](const One& one) {
      const std::int64_t left = one.known() - one.computed, most = o.long_prefill_token_threshold.count();
      return std::min({left, most > 0 ? most : left, budget});
    };
    for (std::size_t i = 0; i < running_.size() && budget > 0; ++i) {
      One& one = *running_[i];
      if (one.said_all()) continue;
      const std::int64_t tokens = chunk(one), owned = blocks_of(one.computed + tokens);
      bool itself = false;
      while (!itself && owned - one.blocks > free_) itself = drop_last(one);
      if (itself) break;
      compute(one, tokens, owned);
      budget -= tokens;
    }
    if (dropped_) return;
    for (One* one = head(t); one != nullptr && budget > 0 && running() < o.max_num_seqs; one = head(t)) {
      const std::int64_t tokens = chunk(*one);
      const std::int64_t must_fit = blocks_of(o.reserve_full_isl ? one->known() : tokens);
      if (must_fit + (running_.empty() ? 0 : watermark(o.watermark)) > free_) break;
      admit(*one, tokens, blocks_of(tokens));
      budget -= tokens;
    }
  }

  void plan_sarathi(const SarathiOptions& o, std::int64_t t) {
    sort_by_arrival();
    for (std::size_t i = 0; i < running_.size(); ++i) {
      One& one = *running_[i];
      if (one.said_all() || one.computed < one.target) continue;
      if (!free_one_block(one)) break;
      compute(one, 1, std::max(one.blocks, blocks_of(one.known())));
    }
    std::int64_t left = std::max<std::int64_t>(0, o.token_budget.count() - static_cast<std::int64_t>(step_.size()));
    for (One* one : running_) {
      const std::int64_t tokens = std::min(one->target - one->computed, left);
      if (one->said_all() || tokens <= 0) continue;
      compute(*one, tokens, one->blocks);
      left -= tokens;
    }
    for (One* one = head(t); one != nullptr && left > 0 && running() < o.max_num_seqs; one = head(t)) {
      const std::int64_t need = blocks_of(one->target), tokens = std::min(one->target, left);
      if (free_ - need < watermark(o.watermark)) break;
      admit(*one, tokens, need);
      left -= tokens;
    }
  }

  void plan_v0(const VllmV0Options& o, std::int64_t t) {
    std::int64_t left = o.max_num_batched_tokens->count();
    for (One* one = head(t); one != nullptr && running() < o.max_num_seqs; one = head(t)) {
      const std::int64_t tokens = one->known(), need = blocks_of(tokens);
      if (free_ - need < watermark(o.watermark) || tokens > left) break;
      admit(*one, tokens, need);
      left -= tokens;
    }
    sort_by_arrival();
    if (!step_.empty()) return;
    for (std::size_t i = 0; i < running_.size(); ++i) {
      One& one = *running_[i];
      if (one.said_all()) continue;
      if (!free_one_block(one)) break;
      compute(one, 1, std::max(one.blocks, blocks_of(one.known())));
    }
    if (step_.empty() && preempted_) {  // asked again at the same instant
      preempted_ = dropped_ = false;
      plan_v0(o, t);
    }
  }

  // Nothing when no step goes out; a step that only threw out goes out empty.
  std::optional<Step> plan(std::int64_t t) {
    step_.clear();
    preempted_ = dropped_ = false;
    if (const auto* v1 = std::get_if<VllmV1Options>(&spec_.options)) plan_v1(*v1, t);
    if (const auto* sarathi = std::get_if<SarathiOptions>(&spec_.options)) plan_sarathi(*sarathi, t);
    if (const auto* v0 = std::get_if<VllmV0Options>(&spec_.options)) plan_v0(*v0, t);
    if (step_.empty() && !preempted_) return std::nullopt;
    Step step;
    for (One* one : step_) {
      if (one->computed != one->known()) continue;
      ++one->planned;
      step.emitters.push_back(one);
    }
    return step;
  }

  void end(const Step& step, std::int64_t t) {
    for (One* one : step.emitters) {
      one->emitted_at.push_back(t);
      if (static_cast<std::int64_t>(one->emitted_at.size()) < one->output) continue;
      free_ += one->blocks;
      one->blocks = 0;
      std::erase(running_, one);
    }
  }

  const Spec& spec_;
  std::int64_t free_;
  std::vector<One> all_;
  std::vector<One*> waiting_, running_;
  std::vector<One*> step_;  // of the plan being made
  bool preempted_ = false;  // somebody was thrown out by it, who has to come back
  bool dropped_ = false;    // or only loses its place, its last token being on its way
  std::int64_t preemptions_ = 0;
};

}  // namespace servecast::test
