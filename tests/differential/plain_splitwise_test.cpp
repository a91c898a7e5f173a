// Splitwise a second time, as plainly as its rules read: second by second, everything in lists, every number that the
// dispatcher looks at added up anew. Steps of one second, whole seconds for each block on the way.
#include <algorithm>
#include <deque>
#include <doctest/doctest.h>
#include <optional>

#include "sim/random.hpp"
#include "tests/support/placed_run.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

enum class Kv { kNone, kOffered, kOnTheWay, kThere };

struct PlainRequest {
  std::int64_t arrival = 0, prompt = 0, output = 0;
  std::size_t prompt_at = 0, token_at = 0;
  bool placed = false, started = false, left_out_last = false;
  Kv kv = Kv::kNone;
  std::int64_t left_out = 0, here_at = 0;
  std::vector<std::int64_t> at = {};

  [[nodiscard]] std::int64_t whole() const { return prompt + output; }
  [[nodiscard]] bool stays() const { return prompt_at == token_at; }
  [[nodiscard]] bool prefilled() const { return !at.empty(); }
  [[nodiscard]] bool ended() const { return static_cast<std::int64_t>(at.size()) == output; }
  [[nodiscard]] bool left() const { return kv == Kv::kThere || ended(); }  // the prompt machine, where it does not stay
};

class PlainSplitwise {
 public:
  PlainSplitwise(const PlacedSpec& spec, std::int64_t seconds_per_block)
      : spec_(spec),
        seconds_per_block_(seconds_per_block),
        mixed_(spec.prompts + spec.tokens),
        step_(mixed_.size()),
        offered_(mixed_.size()) {
    for (const Spec::Req& r : spec.requests)
      requests_.push_back({.arrival = r.arrival, .prompt = r.prompt, .output = r.output});
  }

  std::vector<std::vector<std::int64_t>> run() {
    for (std::int64_t t = 0; t < 100'000 && !std::all_of(requests_.begin(), requests_.end(), ended); ++t) {
      for (std::size_t m = 0; m < mixed_.size(); ++m) end_step(m, t);
      end_transfers(t);
      for (std::size_t r = 0; r < requests_.size(); ++r) {
        if (requests_[r].arrival == t) place(r);
      }
      while (push(t)) {
      }
      for (std::size_t m = 0; m < mixed_.size(); ++m) start_step(m);
    }
    std::vector<std::vector<std::int64_t>> times;
    for (const PlainRequest& r : requests_) times.push_back(r.at);
    return times;
  }

  std::int64_t borrowed = 0, passed_over = 0;

 private:
  static bool ended(const PlainRequest& r) { return r.ended(); }
  [[nodiscard]] std::int64_t blocks(std::int64_t tokens) const {
    return (tokens + spec_.block_size - 1) / spec_.block_size;
  }

  // The dispatcher.
  [[nodiscard]] std::int64_t pending(std::size_t m) const {
    std::int64_t sum = 0;
    for (const PlainRequest& r : requests_) {
      if (!r.placed) continue;
      if (r.prompt_at == m && !r.prefilled()) sum += r.prompt;
      if (r.token_at == m && !r.ended()) sum += 1;
    }
    return sum;
  }
  [[nodiscard]] std::int64_t promised(std::size_t m) const {
    std::int64_t sum = 0;
    for (const PlainRequest& r : requests_) {
      if (!r.placed) continue;
      if (r.token_at == m && !r.ended()) sum += r.whole();
      if (r.prompt_at == m && !r.stays() && !r.left()) sum += r.prompt;
    }
    return sum;
  }
  [[nodiscard]] bool queues(std::size_t m) const {
    return std::any_of(requests_.begin(), requests_.end(),
                       [&](const PlainRequest& r) { return r.placed && r.prompt_at == m && !r.started; });
  }
  void return_idle() {
    for (std::size_t m = 0; m < mixed_.size(); ++m) {
      if (promised(m) == 0 && pending(m) == 0) mixed_[m] = false;
    }
  }
  enum class Group { kPrompt, kToken, kMixed, kAll };
  [[nodiscard]] bool is(std::size_t m, Group group) const {
    if (group == Group::kAll) return true;
    if (mixed_[m]) return group == Group::kMixed;
    return group == (m < spec_.prompts ? Group::kPrompt : Group::kToken);
  }
  template <class Of>
  [[nodiscard]] std::optional<std::size_t> least(Group group, Of of) const {
    std::optional<std::size_t> found;
    for (std::size_t m = 0; m < mixed_.size(); ++m) {
      if (is(m, group) && (!found || of(m) < of(*found))) found = m;
    }
    return found;
  }
  void place(std::size_t index) {
    return_idle();
    PlainRequest& r = requests_[index];
    const auto by_pending = [&](std::size_t m) { return pending(m); };
    const auto by_promised = [&](std::size_t m) { return promised(m); };
    std::optional<std::size_t> prompt, token;
    for (const Group group : {Group::kPrompt, Group::kMixed}) {
      const auto m = least(group, by_pending);
      if (!prompt && m && !(queues(*m) && pending(*m) + r.prompt > spec_.options.max_pending_tokens.count()))
        prompt = m;
    }
    for (const Group group : {Group::kToken, Group::kMixed}) {
      const auto m = least(group, by_promised);
      if (!token && m && promised(*m) + r.whole() < spec_.blocks * spec_.block_size) token = m;
    }
    const bool no_prompt = !prompt, no_token = !token;
    if (no_prompt) prompt = least(Group::kToken, by_pending);
    if (no_prompt && prompt) mixed_[*prompt] = true;
    if (no_token) token = least(Group::kPrompt, by_promised);
    if (no_token && token) mixed_[*token] = true;
    if ((no_prompt && prompt) || (no_token && token)) ++borrowed;
    if (!prompt || !token) {
      return_idle();
      prompt = token = least(Group::kAll, by_pending);
    }
    r.prompt_at = *prompt;
    r.token_at = *token;
    r.placed = true;
  }

  // The machines.
  [[nodiscard]] std::int64_t free(std::size_t m) const {
    std::int64_t used = 0;
    for (const PlainRequest& r : requests_) {
      if (!r.placed) continue;
      const bool there = r.stays() ? r.started : r.kv == Kv::kOnTheWay || r.kv == Kv::kThere;
      if (r.token_at == m && there && !r.ended()) used += blocks(r.whole());
      if (r.prompt_at == m && !r.stays() && r.started && !r.left()) used += blocks(r.prompt);
    }
    return spec_.blocks - used;
  }
  void end_step(std::size_t m, std::int64_t t) {
    for (const std::size_t index : step_[m]) {
      PlainRequest& r = requests_[index];
      const bool was_prefill = !r.prefilled();
      r.at.push_back(t);
      if (!was_prefill || r.ended() || r.stays()) continue;
      r.kv = Kv::kOffered;
      offered_[r.token_at].push_back(index);
    }
    step_[m].clear();
  }
  void end_transfers(std::int64_t t) {
    for (PlainRequest& r : requests_) {
      if (r.kv == Kv::kOnTheWay && r.here_at == t) r.kv = Kv::kThere;
    }
  }
  bool push(std::int64_t t) {
    bool moved = false;
    for (std::size_t m = 0; m < mixed_.size(); ++m) {
      while (!offered_[m].empty() && blocks(requests_[offered_[m].front()].whole()) <= free(m)) {
        PlainRequest& r = requests_[offered_[m].front()];
        offered_[m].pop_front();
        r.here_at = t + seconds_per_block_ * blocks(r.prompt);
        r.kv = r.here_at == t ? Kv::kThere : Kv::kOnTheWay;
        moved = true;
      }
    }
    return moved;
  }

  // Prompts that wait at m, and answers that could go on there, by arrival.
  [[nodiscard]] std::vector<std::size_t> tasks(std::size_t m) const {
    std::vector<std::size_t> list;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const PlainRequest& r = requests_[i];
      if (!r.placed || r.ended()) continue;
      if (r.prompt_at == m && !r.started) list.push_back(i);
      if (r.token_at == m && r.prefilled() && (r.stays() || r.kv == Kv::kThere)) list.push_back(i);
    }
    return list;
  }
  // False: it does not fit.
  bool take(std::size_t m, std::size_t index) {
    PlainRequest& r = requests_[index];
    std::vector<std::size_t>& step = step_[m];
    std::int64_t tokens = 0;
    for (const std::size_t i : step) tokens += requests_[i].prefilled() ? 1 : requests_[i].prompt;
    const std::int64_t more = r.prefilled() ? 1 : r.prompt;
    if (static_cast<std::int64_t>(step.size()) == spec_.options.max_batch) return false;
    if (!step.empty() && tokens + more > spec_.options.max_batch_tokens.count()) return false;
    if (!r.prefilled()) {
      const std::int64_t need = blocks(r.stays() ? r.whole() : r.prompt);
      if (!offered_[m].empty() || need > free(m)) return false;
      r.started = true;
    }
    step.push_back(index);
    return true;
  }
  void start_step(std::size_t m) {
    if (!step_[m].empty()) return;
    const std::vector<std::size_t> all = tasks(m);
    const auto taken = [&](std::size_t i) { return std::find(step_[m].begin(), step_[m].end(), i) != step_[m].end(); };
    // Each kind stops at the first that does not fit. A prompt that does not fit lets no later one pass.
    bool prompts_stop = false;
    const auto take_those = [&](auto is_such) {
      for (const std::size_t i : all) {
        const bool prompt = !requests_[i].prefilled();
        if (taken(i) || !is_such(requests_[i]) || (prompt && prompts_stop)) continue;
        if (take(m, i)) continue;
        if (!prompt) return;
        prompts_stop = true;
      }
    };
    take_those([&](const PlainRequest& r) {
      return r.left_out >= spec_.options.max_passed_over && (!r.prefilled() || r.left_out_last);
    });
    prompts_stop = false;
    take_those([](const PlainRequest& r) { return !r.prefilled(); });
    const auto ran = [](const PlainRequest& r) { return r.at.size() > 1; };
    take_those([&](const PlainRequest& r) { return ran(r) && r.left_out_last; });
    take_those([&](const PlainRequest& r) { return ran(r) && !r.left_out_last; });
    take_those([&](const PlainRequest& r) { return r.at.size() == 1; });
    if (step_[m].empty()) return;
    for (const std::size_t i : all) {
      PlainRequest& r = requests_[i];
      r.left_out_last = !taken(i);
      if (!taken(i)) ++r.left_out;
      if (r.left_out == spec_.options.max_passed_over && !taken(i)) ++passed_over;
      if (taken(i) && !r.prefilled()) r.left_out = 0;  // its answer counts anew
    }
  }

  PlacedSpec spec_;
  std::int64_t seconds_per_block_;
  std::vector<PlainRequest> requests_;
  std::vector<bool> mixed_;
  std::vector<std::vector<std::size_t>> step_;
  std::vector<std::deque<std::size_t>> offered_;  // by the machine that is to decode
};

}  // namespace

TEST_CASE("splitwise gives what a plain reading of its rules gives, on random traces under pressure") {
  RandomStream random = stream(81, "splitwise");
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(random, static_cast<std::uint64_t>(high - low + 1)));
  };
  std::int64_t borrowed = 0, passed_over = 0, moved = 0;
  for (int i = 0; i < 600; ++i) {
    CAPTURE(i);
    PlacedSpec spec;
    std::int64_t at = 0;
    for (std::int64_t r = draw(1, 40); r > 0; --r) {
      spec.requests.push_back({"R", at, draw(1, 14), draw(1, 12)});
      at += draw(0, 2);
    }
    spec.prompts = static_cast<std::size_t>(draw(1, 3));
    spec.tokens = static_cast<std::size_t>(draw(0, 3));
    spec.blocks = draw(20, 40);
    const std::int64_t seconds_per_block = draw(0, 2);
    spec.block_bytes = 1;
    spec.bytes_per_second = seconds_per_block == 0 ? 1e15 : 1.0 / static_cast<double>(seconds_per_block);
    spec.options.max_batch = draw(1, 8);
    spec.options.max_batch_tokens = Tokens{draw(4, 30)};
    spec.options.max_passed_over = draw(1, 4);
    spec.options.max_pending_tokens = Tokens{draw(5, 60)};
    PlacedOutcomes out;
    run(spec, out);
    PlainSplitwise plain(spec, seconds_per_block);
    CHECK(out.emitted_at == plain.run());
    borrowed += plain.borrowed;
    passed_over += plain.passed_over;
    moved += out.result.moved.transfers;
  }
  CHECK(borrowed > 500);
  CHECK(passed_over > 100);
  CHECK(moved > 1000);
}
