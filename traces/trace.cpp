#include "traces/trace.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace servecast {

void TraceReport::drop(const std::string& reason, std::int64_t rows) {
  for (Drop& known : dropped) {
    if (known.reason == reason) {
      known.rows += rows;
      return;
    }
  }
  dropped.push_back({reason, rows});
}

std::int64_t TraceReport::rows_dropped() const {
  return std::accumulate(dropped.begin(), dropped.end(), std::int64_t{0},
                         [](std::int64_t sum, const Drop& drop) { return sum + drop.rows; });
}

void Trace::add(const TraceRow& row) {
  assert(row.prompt.count() <= kMaxTokensPerLength && row.output.count() <= kMaxTokensPerLength);
  assert(empty() || has_arrivals() == row.arrival.has_value());
  assert(empty() || has_sessions() == row.session.has_value());
  prompts_.push_back(static_cast<std::uint32_t>(row.prompt.count()));
  outputs_.push_back(static_cast<std::uint32_t>(row.output.count()));
  if (row.arrival) arrivals_.push_back(*row.arrival);
  if (row.session) {
    sessions_.push_back(*row.session);
    turns_.push_back(row.turn);
  }
  // Until the first prefix there is nothing to index; then earlier rows get their empty ranges at once.
  if (!row.prefix.empty() && run_ends_.empty()) run_ends_.resize(size() - 1, 0);
  runs_.insert(runs_.end(), row.prefix.begin(), row.prefix.end());
  if (!runs_.empty()) run_ends_.push_back(runs_.size());
}

TraceRow Trace::row(std::size_t index) const {
  assert(index < size());
  TraceRow row;
  row.prompt = Tokens{prompts_[index]};
  row.output = Tokens{outputs_[index]};
  if (has_arrivals()) row.arrival = arrivals_[index];
  if (has_sessions()) {
    row.session = sessions_[index];
    row.turn = turns_[index];
  }
  if (has_prefixes()) {
    const std::size_t begin = index == 0 ? 0 : run_ends_[index - 1];
    row.prefix = std::span{runs_}.subspan(begin, run_ends_[index] - begin);
  }
  return row;
}

void Trace::sort_by_arrival() {
  if (std::is_sorted(arrivals_.begin(), arrivals_.end())) return;
  std::vector<std::size_t> order(size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [this](std::size_t a, std::size_t b) { return arrivals_[a] < arrivals_[b]; });
  Trace sorted;
  sorted.block_size_ = block_size_;
  for (const std::size_t index : order) sorted.add(row(index));
  *this = std::move(sorted);
}

void Trace::start_at_zero() {
  if (arrivals_.empty()) return;
  const Duration offset = arrivals_.front() - kStart;
  for (SimTime& arrival : arrivals_) arrival -= offset;
}

std::size_t Trace::bytes() const {
  return arrivals_.capacity() * sizeof(SimTime) +
         (prompts_.capacity() + outputs_.capacity() + sessions_.capacity() + turns_.capacity()) *
             sizeof(std::uint32_t) +
         run_ends_.capacity() * sizeof(std::uint64_t) + runs_.capacity() * sizeof(BlockRun);
}

}  // namespace servecast
