#include "sim/summary.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace servecast {
namespace {

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0.0; }

// Value at rank q·(n − 1), between its two neighbours. `from`: everything before it is already in place.
double percentile(std::vector<double>& values, double q, std::size_t& from) {
  const double rank = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const auto begin = values.begin();
  std::nth_element(begin + static_cast<std::ptrdiff_t>(from), begin + static_cast<std::ptrdiff_t>(below), values.end());
  from = below;
  const double low = values[below];
  const double fraction = rank - static_cast<double>(below);
  if (fraction == 0 || below + 1 == values.size()) return low;
  const double high = *std::min_element(begin + static_cast<std::ptrdiff_t>(below) + 1, values.end());
  return low + fraction * (high - low);
}

struct Window {
  SimTime from, to;
  [[nodiscard]] bool holds(const Request& request) const {
    return request.arrived_at >= from && request.arrived_at <= to;
  }
};

double ttft_s(const Request& r) { return seconds(r.first_token_at - r.arrived_at); }
double e2e_s(const Request& r) { return seconds(r.last_token_at - r.arrived_at); }
bool has_tpot(const Request& r) { return r.streamed && r.output > 1; }
double tpot_s(const Request& r) { return seconds(r.last_token_at - r.first_token_at) / (r.output - 1.0); }
double queueing_s(const Request& r) { return seconds(r.waited()); }
bool was_moved(const Request& r) { return r.time_in(Cause::kTransfer) > Duration{0}; }
double transfer_s(const Request& r) { return seconds(r.time_in(Cause::kTransfer)); }

// Calls `each` for every completed request of the window.
template <class F>
void completed_in(const RequestTable& requests, const Window& window, F each) {
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    const Request& request = requests[i];
    if (request.outcome == Outcome::kCompleted && window.holds(request)) each(request);
  }
}

// One metric at a time, so that only one copy of a million values exists.
template <class Has, class Value>
Distribution over(const RequestTable& requests, const Window& window, std::vector<double>& values, Has has,
                  Value value) {
  values.clear();
  completed_in(requests, window, [&](const Request& r) {
    if (has(r)) values.push_back(value(r));
  });
  return distribution(values);
}

Distribution from_histogram(const LogHistogram& gaps) {
  if (gaps.total() == 0) return {};
  return {gaps.total(),
          gaps.mean_seconds(),
          gaps.quantile_seconds(0.50),
          gaps.quantile_seconds(0.90),
          gaps.quantile_seconds(0.95),
          gaps.quantile_seconds(0.99),
          seconds(gaps.maximum())};
}

void count_outcomes(const RequestTable& requests, const Window& window, Summary& summary) {
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    const Request& request = requests[i];
    if (!window.holds(request)) {
      ++summary.outside;
      continue;
    }
    ++summary.offered;
    switch (request.outcome) {
      case Outcome::kOpen:
        ++summary.open;
        break;
      case Outcome::kCompleted:
        ++summary.completed;
        break;
      case Outcome::kRejected:
        ++summary.rejected;
        break;
      case Outcome::kAborted:
        ++summary.aborted;
        break;
    }
    if (request.truncated) ++summary.truncated;
    if (request.refusal != Refusal::kNone) ++summary.refused[static_cast<std::size_t>(request.refusal)];
  }
}

void judge(const RequestTable& requests, const Window& window, const Slo& slo, Summary& summary) {
  completed_in(requests, window, [&](const Request& r) {
    const bool ttft = !slo.ttft_s || ttft_s(r) <= *slo.ttft_s;
    const bool tpot = !slo.tpot_s || !has_tpot(r) || tpot_s(r) <= *slo.tpot_s;
    const bool e2e = !slo.e2e_s || e2e_s(r) <= *slo.e2e_s;
    summary.met_ttft += ttft ? 1 : 0;
    summary.met_tpot += tpot ? 1 : 0;
    summary.met_e2e += e2e ? 1 : 0;
    summary.met_slo += ttft && tpot && e2e ? 1 : 0;
  });
  summary.attainment = ratio(static_cast<double>(summary.met_slo), static_cast<double>(summary.offered));
  summary.goodput = ratio(static_cast<double>(summary.met_slo), seconds(window.to - window.from));
}

void average_lengths_and_causes(const RequestTable& requests, const Window& window, Summary& summary) {
  double prompt = 0, output = 0;
  std::array<double, kCauses> causes{};
  completed_in(requests, window, [&](const Request& r) {
    prompt += r.prompt;
    output += r.output;
    for (std::size_t c = 0; c < kCauses; ++c) causes[c] += static_cast<double>(r.spent[c].count());
  });
  const auto n = static_cast<double>(summary.completed);
  summary.mean_prompt_tokens = ratio(prompt, n);
  summary.mean_output_tokens = ratio(output, n);
  for (std::size_t c = 0; c < kCauses; ++c) summary.cause_mean_s[c] = ratio(causes[c] * 1e-9, n);
}

void rates(const RequestTable& requests, const RunResult& result, Summary& summary) {
  if (requests.size() == 0) return;
  const Duration arrivals = requests[requests.size() - 1].arrived_at - requests[0].arrived_at;
  summary.duration_s = seconds(result.ended_at - requests[0].arrived_at);
  summary.offered_rate = ratio(requests.size() - 1.0, seconds(arrivals));
  std::int64_t completed = 0;
  double prompts = 0;
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    if (requests[i].outcome != Outcome::kCompleted) continue;
    ++completed;
    prompts += requests[i].prompt;
  }
  summary.completed_rate = ratio(static_cast<double>(completed), summary.duration_s);
  summary.output_tokens_rate = ratio(static_cast<double>(result.tokens_emitted), summary.duration_s);
  summary.total_tokens_rate = summary.output_tokens_rate + ratio(prompts, summary.duration_s);
  const Counters& counters = result.counters;
  summary.mean_running = ratio(static_cast<double>(counters.running_ns) * 1e-9, summary.duration_s);
  summary.kv_mean_blocks = ratio(static_cast<double>(counters.kv_block_ns) * 1e-9, summary.duration_s);
  summary.kv_useful_share = ratio(static_cast<double>(counters.kv_token_ns),
                                  static_cast<double>(counters.kv_block_ns * result.block_size.count()));
  const double replicas = std::max(1.0, static_cast<double>(result.replicas.size()));
  summary.busy_share = ratio(seconds(counters.busy), summary.duration_s * replicas);
  summary.mean_decode_batch =
      ratio(static_cast<double>(counters.decode_tokens), static_cast<double>(counters.steps - counters.empty_steps));
}

}  // namespace

double busy_share(const ReplicaResult& replica, const Summary& summary) {
  return ratio(seconds(replica.counters.busy), summary.duration_s);
}

double mean_blocks(const ReplicaResult& replica, const Summary& summary) {
  return ratio(static_cast<double>(replica.counters.kv_block_ns) * 1e-9, summary.duration_s);
}

Distribution distribution(std::vector<double>& values) {
  Distribution d;
  d.count = static_cast<std::int64_t>(values.size());
  if (values.empty()) return d;
  d.mean_s = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  std::size_t from = 0;
  d.p50_s = percentile(values, 0.50, from);
  d.p90_s = percentile(values, 0.90, from);
  d.p95_s = percentile(values, 0.95, from);
  d.p99_s = percentile(values, 0.99, from);
  d.max_s = *std::max_element(values.begin() + static_cast<std::ptrdiff_t>(from), values.end());
  return d;
}

Summary summarise(const RequestTable& requests, const RunResult& result, const SummaryOptions& options) {
  Summary summary;
  if (requests.size() == 0) return summary;
  const Window window{requests[0].arrived_at + options.warm_up,
                      requests[requests.size() - 1].arrived_at - options.cool_down};
  summary.from = window.from;
  summary.to = window.to;
  count_outcomes(requests, window, summary);
  const auto everyone = [](const Request&) { return true; };
  std::vector<double> values;
  values.reserve(requests.size());
  summary.ttft = over(requests, window, values, everyone, ttft_s);
  summary.e2e = over(requests, window, values, everyone, e2e_s);
  summary.tpot = over(requests, window, values, has_tpot, tpot_s);
  summary.max_itl = over(requests, window, values, has_tpot, [](const Request& r) { return seconds(r.max_itl); });
  summary.queueing = over(requests, window, values, everyone, queueing_s);
  if (result.moved.transfers > 0) summary.transfer = over(requests, window, values, was_moved, transfer_s);
  summary.normalised = over(requests, window, values, everyone, [](const Request& r) { return e2e_s(r) / r.output; });
  summary.itl = from_histogram(result.gaps);
  judge(requests, window, options.slo, summary);
  average_lengths_and_causes(requests, window, summary);
  rates(requests, result, summary);
  return summary;
}

}  // namespace servecast
