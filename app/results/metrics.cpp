#include "app/results/metrics.hpp"

#include <optional>
#include <utility>

namespace servecast {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 4> kPercentiles{
    {{"p50", 0.50}, {"p90", 0.90}, {"p95", 0.95}, {"p99", 0.99}}};

class Keys {
 public:
  void count(std::string key, std::int64_t value) { list_.push_back({std::move(key), value}); }
  void number(std::string key, double value) { list_.push_back({std::move(key), value}); }
  void number_if(bool known, std::string key, double value) {
    list_.push_back({std::move(key), known ? MetricValue{value} : MetricValue{}});
  }
  void count_if(bool known, std::string key, std::int64_t value) {
    list_.push_back({std::move(key), known ? MetricValue{value} : MetricValue{}});
  }
  std::vector<Metric> take() { return std::move(list_); }

 private:
  std::vector<Metric> list_;
};

std::string key_of(const NamedDistribution& named, std::string_view statistic) {
  return std::string(named.name) + "_" + std::string(statistic) + "_" + std::string(named.unit);
}

void add_counts(const Summary& s, Keys& keys) {
  keys.number("window_from_s", seconds(s.from));
  keys.number("window_to_s", seconds(s.to));
  keys.count("offered_requests", s.offered);
  keys.count("completed_requests", s.completed);
  keys.count("rejected_requests", s.rejected);
  keys.count("aborted_requests", s.aborted);
  keys.count("open_requests", s.open);
  keys.count("truncated_requests", s.truncated);
  keys.count("outside_window_requests", s.outside);
  for (const Refusal why :
       {Refusal::kModelLength, Refusal::kCache, Refusal::kReservation, Refusal::kTokenBudget, Refusal::kSwapSpace}) {
    keys.count(std::string("refused_") + name(why) + "_requests", s.refused[static_cast<std::size_t>(why)]);
  }
}

void add_distributions(const Summary& s, Keys& keys) {
  for (const NamedDistribution& named : distributions()) {
    const Distribution& d = s.*named.values;
    const bool known = d.count > 0;
    keys.count(std::string(named.name) + "_count", d.count);
    keys.number_if(known, key_of(named, "mean"), d.mean_s);
    keys.number_if(known, key_of(named, "p50"), d.p50_s);
    keys.number_if(known, key_of(named, "p90"), d.p90_s);
    keys.number_if(known, key_of(named, "p95"), d.p95_s);
    keys.number_if(known, key_of(named, "p99"), d.p99_s);
    keys.number_if(known, key_of(named, "max"), d.max_s);
  }
}

void add_rates(const Summary& s, const Realised& realised, Keys& keys) {
  keys.number("duration_s", s.duration_s);
  keys.number("offered_requests_per_s", realised.rate_per_s());
  keys.number("completed_requests_per_s", s.completed_rate);
  keys.number("output_tokens_per_s", s.output_tokens_rate);
  keys.number("total_tokens_per_s", s.total_tokens_rate);
  keys.number_if(s.completed > 0, "prompt_mean_tokens", s.mean_prompt_tokens);
  keys.number_if(s.completed > 0, "output_mean_tokens", s.mean_output_tokens);
}

void add_slo(const Summary& s, const Slo& slo, Keys& keys) {
  keys.count_if(slo.any(), "slo_met_requests", s.met_slo);
  keys.count_if(slo.ttft_s.has_value(), "slo_met_ttft_requests", s.met_ttft);
  keys.count_if(slo.tpot_s.has_value(), "slo_met_tpot_requests", s.met_tpot);
  keys.count_if(slo.e2e_s.has_value(), "slo_met_e2e_requests", s.met_e2e);
  keys.number_if(slo.any() && s.offered > 0, "slo_attainment_share", s.attainment);
  keys.number_if(slo.any() && s.to > s.from, "goodput_requests_per_s", s.goodput);
}

void add_causes(const Summary& s, Keys& keys) {
  for (std::size_t c = 0; c < kCauses; ++c) {
    keys.number_if(s.completed > 0, std::string("time_") + name(static_cast<Cause>(c)) + "_mean_s", s.cause_mean_s[c]);
  }
}

// Bytes of all replicas together, each by its own blocks.
template <class BlocksOf>
double kv_bytes(const PreparedPoint& point, const RunResult& run, BlocksOf blocks_of) {
  double bytes = 0;
  for (std::size_t i = 0; i < run.replicas.size(); ++i) {
    bytes += kv_bytes_of(deployment_of(point, i), blocks_of(run.replicas[i]));
  }
  return bytes;
}

void add_memory(const PreparedPoint& point, const PointResult& result, Keys& keys) {
  const Deployment& deployment = point.deployment;
  const RunResult& run = result.run;
  const auto mean = [&](const ReplicaResult& r) { return mean_blocks(r, result.summary); };
  const auto usable = static_cast<double>(run.usable_blocks.count());
  const auto peak = static_cast<double>(run.peak_blocks.count());
  keys.count("weights_per_device_bytes", tightest(deployment).weights.count());
  keys.count("activations_per_device_bytes", tightest(deployment).activations.count());
  keys.count("kv_block_tokens", run.block_size.count());
  keys.count("kv_capacity_blocks", run.usable_blocks.count());
  keys.number("kv_capacity_bytes", kv_bytes(point, run, [](const ReplicaResult& r) {
                return static_cast<double>(r.usable_blocks.count());
              }));
  keys.count("kv_peak_blocks", run.peak_blocks.count());
  keys.number("kv_peak_bytes",
              kv_bytes(point, run, [](const ReplicaResult& r) { return static_cast<double>(r.peak_blocks.count()); }));
  keys.number("kv_peak_share", peak / usable);
  keys.number("kv_mean_bytes", kv_bytes(point, run, mean));
  keys.number_if(run.peak_blocks > Blocks{0}, "kv_useful_share", result.summary.kv_useful_share);
}

void add_devices(const PreparedPoint& point, const RunResult& run, Keys& keys) {
  const std::int64_t decode = point.decode ? point.decode->replicas : 0;
  keys.count("replicas", point.deployment.replicas + decode);
  keys.count("devices", device_count(point));
  double device_s = 0;
  std::int64_t lost = 0;
  for (std::size_t i = 0; i < run.replicas.size(); ++i) {
    device_s += seconds(run.replicas[i].up) * static_cast<double>(devices_of_replica(deployment_of(point, i)));
    lost += run.replicas[i].lost;
  }
  keys.number("device_up_s", device_s);
  keys.count("lost_requests", lost);
}

// Of the time of all stages while a step ran, what they did not work.
std::optional<double> bubble_share(const PreparedPoint& point, const RunResult& run) {
  double worked_s = 0, stages_s = 0;
  for (std::size_t i = 0; i < run.replicas.size(); ++i) {
    const std::int64_t stages = deployment_of(point, i).parallelism.pipeline;
    if (stages == 1) continue;
    worked_s += seconds(run.replicas[i].counters.worked);
    stages_s += seconds(run.replicas[i].counters.busy) * static_cast<double>(stages);
  }
  return stages_s > 0 ? std::optional(1 - worked_s / stages_s) : std::nullopt;
}

void add_work(const PreparedPoint& point, const PointResult& result, Keys& keys) {
  const Counters& c = result.run.counters;
  const std::optional<double> bubble = bubble_share(point, result.run);
  keys.number("running_mean_sequences", result.summary.mean_running);
  keys.number("decode_mean_tokens_per_step", result.summary.mean_decode_batch);
  keys.number("busy_share", result.summary.busy_share);
  keys.number_if(bubble.has_value(), "pipeline_bubble_share", bubble.value_or(0));
  keys.number("host_exposed_s", seconds(c.host));
  keys.count("preemptions", result.run.preemptions);
  keys.count("steps", c.steps);
  keys.count("prefill_tokens", c.prefill_tokens);
  keys.count("recomputed_tokens", c.recomputed_tokens);
  keys.count("emitted_tokens", result.run.tokens_emitted);
  keys.count("kv_transfers", result.run.moved.transfers);
  keys.count("kv_transferred_bytes", result.run.moved.arrived.count());
  const auto& busiest = result.busiest_link;
  keys.number_if(busiest.has_value(), "kv_busiest_link_share", busiest ? busiest->share : 0);
}

}  // namespace

const std::array<NamedDistribution, 8>& distributions() {
  static const std::array<NamedDistribution, 8> kList{{
      {"ttft", "s", "completed requests of the window", &Summary::ttft},
      {"tpot", "s", "completed requests of the window that streamed more than one token", &Summary::tpot},
      {"itl", "s", "every gap between two tokens of one request that ends after the warm-up", &Summary::itl},
      {"e2e", "s", "completed requests of the window", &Summary::e2e},
      {"normalised", "s_per_token", "completed requests of the window", &Summary::normalised},
      {"max_itl", "s", "completed requests of the window that streamed more than one token", &Summary::max_itl},
      {"queueing", "s", "completed requests of the window", &Summary::queueing},
      {"transfer", "s", "completed requests of the window whose KV went from pool to pool", &Summary::transfer},
  }};
  return kList;
}

std::vector<Metric> metrics_of(const PreparedPoint& point, const PointResult& result) {
  Keys keys;
  add_counts(result.summary, keys);
  add_distributions(result.summary, keys);
  add_rates(result.summary, result.realised, keys);
  add_slo(result.summary, point.point->experiment.summary.slo, keys);
  add_causes(result.summary, keys);
  add_devices(point, result.run, keys);
  add_memory(point, result, keys);
  add_work(point, result, keys);
  return keys.take();
}

std::vector<std::string> thin_percentiles(const Summary& summary) {
  std::vector<std::string> keys;
  for (const NamedDistribution& named : distributions()) {
    const Distribution& d = summary.*named.values;
    if (d.count == 0) continue;
    for (const auto& [statistic, q] : kPercentiles) {
      if (d.thin(q)) keys.push_back(key_of(named, statistic));
    }
  }
  return keys;
}

}  // namespace servecast
