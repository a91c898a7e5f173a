#include "sim/client_latency.hpp"

namespace servecast {

std::optional<Arrival> ArrivalsAtServer::next() {
  std::optional<Arrival> arrival = sent_.next();
  if (arrival) arrival->at = after(arrival->at, latency_.request);
  return arrival;
}

void tell_as_clients_saw(RequestTable& requests, ClientLatency latency) {
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    Request& request = requests[i];
    request.arrived_at -= latency.request;
    request.time_in(Cause::kClient) += latency.request;
    if (request.first_token_at == kNever) continue;
    request.first_token_at += latency.response;
    request.last_token_at += latency.response;
    if (request.outcome == Outcome::kCompleted) request.time_in(Cause::kClient) += latency.response;
  }
}

}  // namespace servecast
