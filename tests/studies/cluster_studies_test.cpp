// The studies of clusters, held; beside each gate stand the orderings that its README argues from.
#include "tests/studies/study.hpp"

namespace servecast::test {

TEST_CASE("failure: its predictions hold, and one more replica than needed carries the loss of one") {
  const std::vector<RanPoint> points = run_study("failure");
  hold(points, expected_of("failure"));
  REQUIRE(points.size() == 6);
  const auto of = [&](std::size_t replicas, std::size_t failures) {
    return points[(replicas - 4) * 3 + failures].summary;
  };
  const auto number = [](const Json& summary, const char* key) { return summary.at(key).get<double>(); };
  for (std::size_t replicas : {4U, 5U}) {
    for (std::size_t failures = 0; failures < 3; ++failures) {
      CHECK(of(replicas, failures).at("completed_requests") == 20000);  // nothing is lost for good
    }
    CHECK(number(of(replicas, 0), "lost_requests") == 0);
    CHECK(number(of(replicas, 1), "lost_requests") > 0);
    CHECK(number(of(replicas, 2), "lost_requests") > number(of(replicas, 1), "lost_requests"));
    CHECK(number(of(replicas, 0), "slo_attainment_share") >= 0.99);
  }
  CHECK(number(of(4, 1), "slo_attainment_share") < 0.99);
  CHECK(number(of(5, 1), "slo_attainment_share") >= 0.99);
  CHECK(number(of(5, 2), "ttft_p99_s") > number(of(5, 1), "ttft_p99_s"));
  CHECK(number(of(4, 1), "ttft_p99_s") > number(of(5, 1), "ttft_p99_s"));
}

TEST_CASE("routing: its predictions hold; loads help while they are fresh and harm when they are old") {
  const std::vector<RanPoint> points = run_study("routing");
  hold(points, expected_of("routing"));
  const auto ttft = [&](const char* router, const char* age) {
    return value_at(points, {{"router", router}, {"snapshot_age_s", age}}, "ttft_p99_s");
  };
  for (const char* router : {"least-requests", "least-tokens", "join-shortest-queue", "power-of-two"}) {
    CHECK_MESSAGE(ttft(router, "0") < ttft("random", "-"), router);
    CHECK_MESSAGE(ttft(router, "0") < ttft(router, "2"), router);
  }
  for (const char* router : {"least-tokens", "join-shortest-queue"}) {
    CHECK_MESSAGE(ttft(router, "0") < ttft("round-robin", "-"), router);
  }
  CHECK(ttft("least-requests", "2") > ttft("round-robin", "-"));  // a burst goes to one replica
  CHECK(ttft("power-of-two", "2") < ttft("least-requests", "2"));
}

}  // namespace servecast::test
