// DistServe a second time, as plainly as its rules read: second by second, everything in lists, nothing derived. One
// replica that prefills, one that decodes, steps of one second, whole seconds for each block on the way.
#include <algorithm>
#include <deque>
#include <doctest/doctest.h>

#include "sim/random.hpp"
#include "tests/support/pool_run.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

struct PlainRequest {
  std::int64_t arrival, prompt, output, emitted = 0;
  std::vector<std::int64_t> at;
};

class PlainDistserve {
 public:
  PlainDistserve(const PoolSpec& spec, const DistserveOptions& options, std::int64_t seconds_per_block)
      : spec_(spec), options_(options), seconds_per_block_(seconds_per_block) {
    for (const Spec::Req& r : spec.requests) requests_.push_back({r.arrival, r.prompt, r.output, 0, {}});
  }

  std::vector<std::vector<std::int64_t>> run() {
    for (std::int64_t t = 0; t < 100'000 && left() > 0; ++t) {
      end_prefill(t);
      end_decode(t);
      if (transfer_ends_ == t) end_transfer();
      for (std::size_t r = 0; r < requests_.size(); ++r) {
        if (requests_[r].arrival == t) queue_.push_back(r);
      }
      while (decoding_.empty() && transfer_ends_ < t && pull(t)) {
      }
      if (prefilling_.empty()) start_prefill();
      if (decoding_.empty() && transfer_ends_ < t) start_decode();
    }
    std::vector<std::vector<std::int64_t>> times;
    for (const PlainRequest& r : requests_) times.push_back(r.at);
    return times;
  }

 private:
  [[nodiscard]] std::int64_t left() const {
    return std::count_if(requests_.begin(), requests_.end(), [](const auto& r) { return r.emitted < r.output; });
  }
  [[nodiscard]] std::int64_t blocks(std::int64_t tokens) const {
    return (tokens + spec_.block_size - 1) / spec_.block_size;
  }
  [[nodiscard]] std::int64_t prompt_blocks(std::size_t r) const { return blocks(requests_[r].prompt); }
  // Blocks once its newest token has been fed.
  [[nodiscard]] std::int64_t fed_blocks(std::size_t r) const {
    return blocks(requests_[r].prompt + requests_[r].emitted);
  }
  template <class List>
  [[nodiscard]] std::int64_t sum(const List& list, std::int64_t (PlainDistserve::*of)(std::size_t) const) const {
    std::int64_t total = 0;
    for (const std::size_t r : list) total += (this->*of)(r);
    return total;
  }
  void emit(std::size_t r, std::int64_t t) {
    ++requests_[r].emitted;
    requests_[r].at.push_back(t);
  }

  void start_prefill() {
    std::int64_t tokens = 0;
    const std::int64_t held = sum(unaccepted_, &PlainDistserve::prompt_blocks) + on_the_fly_;
    while (!queue_.empty()) {
      const std::size_t r = queue_.front();
      const std::int64_t used = sum(prefilling_, &PlainDistserve::prompt_blocks) + prompt_blocks(r) + held;
      if (static_cast<std::int64_t>(prefilling_.size()) == options_.prefill_max_batch) return;
      if (tokens + requests_[r].prompt > options_.prefill_max_tokens.count() || used > spec_.prefill_blocks) return;
      tokens += requests_[r].prompt;
      prefilling_.push_back(r);
      queue_.pop_front();
    }
  }
  void end_prefill(std::int64_t t) {
    for (const std::size_t r : prefilling_) {
      emit(r, t);
      if (requests_[r].emitted < requests_[r].output) unaccepted_.push_back(r);
    }
    prefilling_.clear();
  }

  [[nodiscard]] std::int64_t decode_used() const {
    return sum(running_, &PlainDistserve::fed_blocks) + sum(waiting_, &PlainDistserve::prompt_blocks);
  }
  void start_decode() {
    while (decode_used() > spec_.decode_blocks) {
      swapped_.push_back(running_.back());
      running_.pop_back();
    }
    while (!swapped_.empty() || !waiting_.empty()) {
      const bool back = !swapped_.empty();
      const std::size_t r = back ? swapped_.front() : waiting_.front();
      if (static_cast<std::int64_t>(running_.size()) >= options_.decode_max_batch) break;
      const bool alone = !back && running_.empty();
      const std::int64_t once = alone ? prompt_blocks(r) : 0;
      if (decode_used() + fed_blocks(r) - once > spec_.decode_blocks) break;
      running_.push_back(r);
      (back ? swapped_ : waiting_).pop_front();
    }
    decoding_ = running_;
  }
  void end_decode(std::int64_t t) {
    for (const std::size_t r : decoding_) {
      emit(r, t);
      if (requests_[r].emitted == requests_[r].output) std::erase(running_, r);
    }
    decoding_.clear();
  }

  // Blocks that are in use between two steps: the newest token of each has not been fed.
  [[nodiscard]] std::int64_t between_steps() const {
    std::int64_t used = sum(waiting_, &PlainDistserve::prompt_blocks);
    for (const std::size_t r : running_) used += blocks(requests_[r].prompt + requests_[r].emitted - 1);
    return used;
  }
  bool pull(std::int64_t t) {
    if (unaccepted_.empty()) return false;
    const std::size_t r = unaccepted_.front();
    const double most = spec_.pull.waiting_share * static_cast<double>(spec_.decode_blocks);
    const bool few = static_cast<double>(sum(waiting_, &PlainDistserve::prompt_blocks)) < most;
    if (!few || prompt_blocks(r) > spec_.decode_blocks - between_steps()) return false;
    unaccepted_.pop_front();
    coming_ = r;
    on_the_fly_ = prompt_blocks(r);
    transfer_ends_ = t + on_the_fly_ * seconds_per_block_;
    if (transfer_ends_ > t) return false;
    end_transfer();
    return true;
  }
  void end_transfer() {
    transfer_ends_ = -1;
    on_the_fly_ = 0;
    waiting_.push_back(coming_);
  }

  PoolSpec spec_;
  DistserveOptions options_;
  std::int64_t seconds_per_block_;
  std::vector<PlainRequest> requests_;
  std::deque<std::size_t> queue_, unaccepted_, waiting_, swapped_;
  std::vector<std::size_t> prefilling_, running_, decoding_;
  std::size_t coming_ = 0;
  std::int64_t on_the_fly_ = 0, transfer_ends_ = -1;
};

}  // namespace

TEST_CASE("DistServe gives what a plain reading of its rules gives, on random traces under pressure") {
  RandomStream random = stream(51, "distserve");
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(random, static_cast<std::uint64_t>(high - low + 1)));
  };
  std::int64_t swaps = 0, held_back = 0;
  for (int i = 0; i < 600; ++i) {
    CAPTURE(i);
    PoolSpec spec;
    std::int64_t at = 0;
    for (std::int64_t r = draw(1, 25); r > 0; --r) {
      spec.requests.push_back({"R", at, draw(1, 14), draw(1, 12)});
      at += draw(0, 3);
    }
    spec.prefill_blocks = draw(4, 12);
    // Enough that the largest request (7 blocks) fits beside those that wait; the rules as they are let it wait for
    // ever where it does not.
    const bool eager = draw(0, 1) == 0;
    spec.decode_blocks = eager ? draw(20, 26) : draw(12, 18);
    spec.pull.waiting_share = eager ? 0.4 : 0.05;
    const std::int64_t seconds_per_block = draw(0, 2);
    spec.blocks_per_second = seconds_per_block == 0 ? 1e15 : 1.0 / static_cast<double>(seconds_per_block);
    DistserveOptions options;
    options.prefill_max_batch = draw(1, 4);
    options.prefill_max_tokens = Tokens{draw(14, 40)};
    options.decode_max_batch = draw(1, 8);
    spec.options = options;
    PoolOutcomes out;
    run(spec, out);
    CHECK(out.emitted_at == PlainDistserve(spec, options, seconds_per_block).run());
    swaps += out.result.preemptions;
    for (std::uint32_t r = 0; r < out.table.size(); ++r) held_back += out.seconds_in(r, Cause::kMemory);
  }
  CHECK(swaps > 100);
  CHECK(held_back > 100);
}
