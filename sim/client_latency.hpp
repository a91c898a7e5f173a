// The way between client and server: it delays requests and answers, and keeps no engine busy.
//
// The engine's clock is the server's. What is reported is what the client sees: a request arrives when it was sent, its
// tokens come when they reach the client, and the time on the way has a cause of its own.
#pragma once

#include "sim/arrival_source.hpp"
#include "sim/request_table.hpp"

namespace servecast {

struct ClientLatency {
  Duration request{0};   // from the client to the engine's queue
  Duration response{0};  // of every token, from the engine to the client

  [[nodiscard]] bool any() const { return request > Duration{0} || response > Duration{0}; }
};

// The arrivals of a source as the server sees them. Closed loops hear of an end when the client does.
class ArrivalsAtServer final : public ArrivalSource {
 public:
  // The source must outlive it.
  ArrivalsAtServer(ArrivalSource& sent, ClientLatency latency) : sent_(sent), latency_(latency) {}

  std::optional<Arrival> next() override;
  [[nodiscard]] bool closed_loop() const override { return sent_.closed_loop(); }
  void finished(RequestId request, SimTime at) override { sent_.finished(request, after(at, latency_.response)); }

 private:
  ArrivalSource& sent_;
  ClientLatency latency_;
};

// Retells a run of ArrivalsAtServer as the clients saw it: TTFT and E2E grow by the way there and back, TPOT and ITL by
// nothing. A request that did not complete has only the way there. Once.
void tell_as_clients_saw(RequestTable& requests, ClientLatency latency);

}  // namespace servecast
