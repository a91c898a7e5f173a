#include "traces/workload.hpp"

#include <algorithm>
#include <boost/random/exponential_distribution.hpp>
#include <queue>
#include <utility>

#include "traces/length_pairs.hpp"
#include "traces/numbers.hpp"

namespace servecast {
namespace {

// Lengths, the cap, and the tally: what open and closed loops share.
class Sender : public Workload {
 public:
  Sender(const WorkloadSpec& spec, std::shared_ptr<const Trace> trace, std::int64_t requests)
      : trace_(std::move(trace)),
        lengths_(make_length_pairs(spec.lengths, trace_.get(), spec.seed)),
        max_tokens_(spec.max_tokens),
        left_(requests) {}

  [[nodiscard]] const Realised& realised() const override { return realised_; }

 protected:
  [[nodiscard]] bool done() const { return left_ == 0; }
  [[nodiscard]] const Trace* trace() const { return trace_.get(); }

  // Requires that requests are left.
  Arrival send(SimTime at) {
    --left_;
    const LengthPair pair = lengths_->next();
    if (realised_.requests++ == 0) realised_.first = at;
    realised_.last = std::max(realised_.last, at);
    realised_.prompt_tokens += pair.prompt.count();
    realised_.output_tokens += pair.output.count();
    return {at, pair.prompt, pair.output, max_tokens_.value_or(pair.output), pair.affinity};
  }

 private:
  std::shared_ptr<const Trace> trace_;
  std::unique_ptr<LengthPairs> lengths_;
  std::optional<Tokens> max_tokens_;
  std::int64_t left_;
  Realised realised_;
};

class OpenLoop : public Sender {
 public:
  OpenLoop(const WorkloadSpec& spec, std::shared_ptr<const Trace> trace, std::int64_t requests)
      : Sender(spec, std::move(trace), requests),
        times_(make_arrival_times(spec.arrivals, stream(spec.seed, "arrivals"), this->trace())) {}

  std::optional<Arrival> next() override {
    if (done()) return std::nullopt;
    const std::optional<SimTime> at = times_->next();
    if (!at) return std::nullopt;
    return send(*at);
  }
  void finished(RequestId /*request*/, SimTime /*at*/) override {}

 private:
  std::unique_ptr<ArrivalTimes> times_;
};

// Every client starts at 0; whoever's request ended sends the next one, so clients need no identity.
class Clients : public Sender {
 public:
  Clients(const WorkloadSpec& spec, const ClosedLoop& loop, std::shared_ptr<const Trace> trace, std::int64_t requests)
      : Sender(spec, std::move(trace), requests),
        starting_(loop.clients),
        think_s_(loop.think_s),
        exponential_(loop.exponential && loop.think_s > 0),
        stream_(stream(spec.seed, "think")) {}

  std::optional<Arrival> next() override {
    if (done()) return std::nullopt;
    if (starting_ > 0) {
      --starting_;
      return send(kStart);
    }
    if (ready_.empty()) return std::nullopt;
    const SimTime at = ready_.front();
    ready_.pop();
    return send(at);
  }

  [[nodiscard]] bool closed_loop() const override { return true; }

  void finished(RequestId /*request*/, SimTime at) override { ready_.push(at + think()); }

 private:
  Duration think() {
    if (!exponential_) return from_seconds(think_s_);
    return from_seconds(boost::random::exponential_distribution<double>(1 / think_s_)(stream_));
  }

  std::int64_t starting_;
  double think_s_;
  bool exponential_;
  RandomStream stream_;
  std::queue<SimTime> ready_;
};

std::int64_t request_count(const WorkloadSpec& spec, const Trace* trace) {
  const bool recorded = std::holds_alternative<ArrivalsAsRecorded>(spec.arrivals);
  const auto* in_order = std::get_if<RowsInOrder>(&spec.lengths);
  const auto rows = static_cast<std::int64_t>(trace == nullptr ? 0 : trace->size());
  if (!spec.requests) {
    if (rows == 0) refuse("requests", "is missing", "without a trace their number must be given");
    return rows;
  }
  if (*spec.requests < 1) refuse("requests", "must be at least 1");
  if (*spec.requests > std::int64_t{UINT32_MAX}) refuse("requests", "must be at most 4294967295");
  if (rows > 0 && recorded && *spec.requests > rows) {
    refuse("requests",
           std::to_string(*spec.requests) + " are more than the " + std::to_string(rows) + " recorded arrivals",
           "choose an arrival process, such as poisson");
  }
  if (rows > 0 && in_order != nullptr && !in_order->cycle && *spec.requests > rows) {
    refuse("requests",
           std::to_string(*spec.requests) + " are more than the " + std::to_string(rows) + " rows of the trace",
           "ask for the trace to be resampled or cycled");
  }
  return *spec.requests;
}

}  // namespace

double Realised::rate_per_s() const {
  if (last == first) return 0;
  return static_cast<double>(requests - 1) / seconds(last - first);
}

std::unique_ptr<Workload> make_workload(const WorkloadSpec& spec, std::shared_ptr<const Trace> trace) {
  check(spec.arrivals);
  if (spec.max_tokens && *spec.max_tokens < Tokens{1}) refuse("max_tokens", "must be at least 1");
  const std::int64_t requests = request_count(spec, trace.get());
  if (const auto* loop = std::get_if<ClosedLoop>(&spec.arrivals)) {
    return std::make_unique<Clients>(spec, *loop, std::move(trace), requests);
  }
  return std::make_unique<OpenLoop>(spec, std::move(trace), requests);
}

}  // namespace servecast
