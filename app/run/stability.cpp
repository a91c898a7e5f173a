#include "app/run/stability.hpp"

#include <algorithm>

namespace servecast {
namespace {

constexpr std::uint32_t kFewest = 40;
constexpr double kGrowth = 0.01;         // of the wait, per second
constexpr double kShareOfService = 0.1;  // below it a longer wait is noise
constexpr double kServicesSpanned = 2;

struct Means {
  double arrived_s = 0, wait_s = 0;  // of those served
  double service_sum_s = 0;          // of those completed
  std::uint32_t served = 0, completed = 0;
};

// In a queue before the first step, or between prefill and decode where they run on replicas of their own.
double waited_s(const Request& request) {
  return seconds(request.waited() + request.time_in(Cause::kTransferWait) + request.time_in(Cause::kDecodeWait));
}

// Of the requests [from, to) that were served; those turned away waited for nothing.
Means means_of(const RequestTable& requests, std::uint32_t from, std::uint32_t to) {
  Means means;
  for (std::uint32_t i = from; i < to; ++i) {
    const Request& request = requests[i];
    if (request.outcome == Outcome::kRejected) continue;
    ++means.served;
    means.arrived_s += seconds(request.arrived_at - kStart);
    means.wait_s += waited_s(request);
    if (request.outcome == Outcome::kCompleted) {
      ++means.completed;
      means.service_sum_s += seconds(request.last_token_at - request.arrived_at) - waited_s(request);
    }
  }
  const double served = std::max(1.0, static_cast<double>(means.served));
  means.arrived_s /= served;
  means.wait_s /= served;
  return means;
}

}  // namespace

Stability stability_of(const RequestTable& requests) {
  const std::uint32_t n = requests.size();
  if (n < kFewest) return Stability::kTooShort;
  const Means third = means_of(requests, n / 2, n - n / 4);
  const Means last = means_of(requests, n - n / 4, n);
  const double completed = std::max(1.0, static_cast<double>(third.completed) + static_cast<double>(last.completed));
  const double service_s = (third.service_sum_s + last.service_sum_s) / completed;
  const double span_s = seconds(requests[n - 1].arrived_at - requests[0].arrived_at);
  const double grown_s = last.wait_s - third.wait_s;
  if (grown_s > kGrowth * (last.arrived_s - third.arrived_s) && grown_s > kShareOfService * service_s) {
    return Stability::kGrowing;
  }
  return span_s < kServicesSpanned * service_s ? Stability::kTooShort : Stability::kStable;
}

}  // namespace servecast
