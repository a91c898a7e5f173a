#include "app/run/goodput.hpp"

#include <doctest/doctest.h>
#include <vector>

#include "app/run/rate_search.hpp"
#include "sim/error.hpp"
#include "tests/unit/app/experiment_support.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

RateBracket search_below(double limit, double guess, int* tried = nullptr) {
  RateSearch search;
  search.guess = guess;
  return highest_rate(search, [&](double rate) {
    if (tried != nullptr) ++*tried;
    return rate <= limit;
  });
}

// Requests that arrive one a second and take `service_s`, having waited wait(i) seconds.
template <class Wait>
Stability stability_with(std::uint32_t count, double service_s, Wait wait) {
  RequestTable requests;
  for (std::uint32_t i = 0; i < count; ++i) {
    const SimTime at = kStart + std::chrono::seconds{i};
    Request& request = requests.add({at, Tokens{10}, Tokens{2}, Tokens{2}});
    request.time_in(Cause::kSlot) = from_seconds(wait(i));
    request.last_token_at = at + from_seconds(wait(i)) + from_seconds(service_s);
    request.outcome = Outcome::kCompleted;
  }
  return stability_of(requests);
}

const char* const kOneAtATime =
    "servecast: 1\nmodel: llama-3.1-8b\ndevice: h100-sxm\n"
    "workload:\n  lengths: {prompt: {fixed: 64}, output: {fixed: 32}}\n  arrivals: {uniform: {rate: 3}}\n"
    "  requests: 400\n"
    "deployment: {policy: static, options: {static: {batch_size: 1}}}\n";

struct Searched {
  Study study;
  TraceCache traces;
  PreparedPoint point;
  explicit Searched(const std::string& text) : study(test::study(text)) {
    point = prepare_point(study.points.front(), traces);
  }
};

}  // namespace

TEST_CASE("a rate is bracketed within the tolerance from below and from above") {
  for (const double limit : {0.013, 1.0, 7.7, 4321.0}) {
    for (const double guess : {0.02, 5.0, 900.0}) {
      const RateBracket found = search_below(limit, guess);
      CHECK(found.met <= limit);
      CHECK(found.missed > limit);
      CHECK(found.missed <= found.met * 1.01);
    }
  }
}

TEST_CASE("a search stops at its bounds: all rates meet, or none does") {
  int tried = 0;
  CHECK(search_below(1e9, 1, &tried).missed == 0);
  CHECK(search_below(1e-9, 1, &tried).met == 0);
  CHECK(tried < 60);
}

TEST_CASE("a wait that stays is stable, one that grows with time is not") {
  CHECK(stability_with(400, 2, [](std::uint32_t i) { return i % 7; }) == Stability::kStable);
  CHECK(stability_with(400, 2, [](std::uint32_t i) { return 0.05 * i; }) == Stability::kGrowing);
}

TEST_CASE("a wait that grows by less than a request's own length is noise") {
  CHECK(stability_with(400, 150, [](std::uint32_t i) { return 0.05 * i; }) == Stability::kStable);
}

TEST_CASE("requests that a horizon left open do not shorten what a request takes") {
  RequestTable requests;
  for (std::uint32_t i = 0; i < 400; ++i) {
    Request& request = requests.add({kStart + std::chrono::seconds{i}, Tokens{10}, Tokens{2}, Tokens{2}});
    if (i >= 300) continue;  // still open, and they did not wait
    request.last_token_at = request.arrived_at + std::chrono::seconds{300};
    request.outcome = Outcome::kCompleted;
  }
  CHECK(stability_of(requests) == Stability::kTooShort);
}

TEST_CASE("each seed of a search draws its own routing") {
  Searched point(
      "servecast: 1\nmodel: llama-3.1-8b\ndevice: h100-sxm\n"
      "workload:\n  lengths: {prompt: {fixed: 900}, output: {fixed: 90}}\n"
      "  arrivals: {uniform: {rate: 60}}\n  requests: 400\n"
      "deployment: {policy: orca, replicas: 3, router: random}\nslo: {ttft_s: 0.1}\n");
  // Lengths and arrivals are fixed: only the router's draws can differ.
  CHECK(find_goodput(point.point, 1, 0.001).rate_per_s != find_goodput(point.point, 2, 0.001).rate_per_s);
}

TEST_CASE("arrivals within the life of one request, or very few, say nothing") {
  CHECK(stability_with(400, 300, [](std::uint32_t) { return 0; }) == Stability::kTooShort);
  CHECK(stability_with(30, 1, [](std::uint32_t) { return 0; }) == Stability::kTooShort);
}

// Service one after the other in D seconds, arrivals evenly spaced: nobody waits below 1/D, and above it all do more
// and more (D/D/1).
TEST_CASE("the goodput of a server of one request at a time under even arrivals is one over its service time") {
  Searched alone(std::string(kOneAtATime) + "slo: {e2e_s: 10}\n");
  RequestTable requests;
  const double service_s = run_point(alone.point, requests).summary.e2e.max_s;

  Searched bound(std::string(kOneAtATime) + "slo: {e2e_s: " + std::to_string(service_s * 1.0001) + "}\n");
  const GoodputFound found = find_goodput(bound.point, 1, 0.001);
  CHECK(found.rate_per_s <= 1 / service_s);
  CHECK(found.rate_per_s >= 0.998 / service_s);
  CHECK(found.limit() == "E2E");

  SUBCASE("and a bound that nobody could miss does not raise it: the queue would grow") {
    Searched loose(std::string(kOneAtATime) + "slo: {e2e_s: 100000}\n");
    const double loosest = find_goodput(loose.point, 1, 0.001).rate_per_s;
    CHECK(loosest <= 1.02 / service_s);
    CHECK(loosest >= 0.998 / service_s);
    CHECK(find_goodput(loose.point, 1, 0.001).limit() == "the queue grows");
  }
  SUBCASE("and one below the service time is met at no rate") {
    Searched tight(std::string(kOneAtATime) + "slo: {e2e_s: " + std::to_string(service_s * 0.9) + "}\n");
    CHECK(find_goodput(tight.point, 1, 0.001).rate_per_s == 0);
  }
}

TEST_CASE("the same point and seed give the same search") {
  Searched point(
      "servecast: 1\nmodel: llama-3.1-8b\ndevice: h100-sxm\n"
      "workload:\n  lengths: {prompt: {uniform: {min: 1, max: 900}}, output: {uniform: {min: 1, max: 90}}}\n"
      "  arrivals: {poisson: {rate: 20}}\n  requests: 300\n"
      "deployment: {policy: sarathi}\nslo: {ttft_s: 0.3, tpot_s: 0.03}\n");
  const GoodputFound a = find_goodput(point.point, 7, 0.01), b = find_goodput(point.point, 7, 0.01);
  CHECK(a.rate_per_s > 0);
  CHECK(a.rate_per_s == b.rate_per_s);
  CHECK(a.probes.size() == b.probes.size());
  REQUIRE(a.probe_at(a.rate_per_s) != nullptr);
  CHECK(a.probe_at(a.rate_per_s)->attainment >= 0.9);
}

TEST_CASE("goodput needs an SLO and a rate") {
  Searched without(kOneAtATime);
  CHECK_THROWS_AS(check_goodput_is_defined(without.point), InputError);
  Searched closed(
      "servecast: 1\nmodel: llama-3.1-8b\ndevice: h100-sxm\n"
      "workload:\n  lengths: {prompt: {fixed: 64}, output: {fixed: 32}}\n"
      "  arrivals: {closed-loop: {clients: 3}}\n  requests: 40\n"
      "deployment: {policy: orca}\nslo: {ttft_s: 1}\n");
  CHECK_THROWS_AS(check_goodput_is_defined(closed.point), InputError);
}
