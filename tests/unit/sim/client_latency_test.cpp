#include "sim/client_latency.hpp"

#include <doctest/doctest.h>

namespace servecast::test {
namespace {

SimTime at_ms(std::int64_t t) { return kStart + std::chrono::milliseconds{t}; }

class TwoArrivals final : public ArrivalSource {
 public:
  std::optional<Arrival> next() override {
    if (given_ == 2) return std::nullopt;
    return Arrival{at_ms(10 * given_++), Tokens{8}, Tokens{4}, Tokens{4}};
  }
  [[nodiscard]] bool closed_loop() const override { return true; }
  void finished(RequestId, SimTime at) override { told_ = at; }

  SimTime told_ = kNever;

 private:
  std::int64_t given_ = 0;
};

constexpr ClientLatency kWay{std::chrono::milliseconds{2}, std::chrono::milliseconds{4}};

}  // namespace

TEST_CASE("a request reaches the server later than it was sent, and its end the client later than it was") {
  TwoArrivals clients;
  ArrivalsAtServer server(clients, kWay);
  CHECK(server.next()->at == at_ms(2));
  CHECK(server.next()->at == at_ms(12));
  CHECK_FALSE(server.next());
  CHECK(server.closed_loop());
  server.finished(RequestId{0}, at_ms(100));
  CHECK(clients.told_ == at_ms(104));
}

TEST_CASE("as clients saw it, TTFT and E2E have the way there and back, gaps between tokens nothing, causes add up") {
  RequestTable requests;
  Request& done = requests.add({at_ms(2), Tokens{8}, Tokens{4}, Tokens{4}});
  done.outcome = Outcome::kCompleted;
  done.first_token_at = at_ms(30);
  done.last_token_at = at_ms(90);
  done.time_in(Cause::kPrefill) = std::chrono::milliseconds{28};
  done.time_in(Cause::kDecode) = std::chrono::milliseconds{60};
  Request& rejected = requests.add({at_ms(12), Tokens{8}, Tokens{4}, Tokens{4}});
  rejected.outcome = Outcome::kRejected;
  tell_as_clients_saw(requests, kWay);
  CHECK(requests[0].arrived_at == at_ms(0));
  CHECK(requests[0].first_token_at == at_ms(34));
  CHECK(requests[0].last_token_at == at_ms(94));
  CHECK(requests[0].time_in(Cause::kClient) == std::chrono::milliseconds{6});
  Duration sum{0};
  for (const Duration spent : requests[0].spent) sum += spent;
  CHECK(sum == requests[0].last_token_at - requests[0].arrived_at);
  CHECK(requests[1].arrived_at == at_ms(10));
  CHECK(requests[1].first_token_at == kNever);
  CHECK(requests[1].time_in(Cause::kClient) == std::chrono::milliseconds{2});
}

}  // namespace servecast::test
