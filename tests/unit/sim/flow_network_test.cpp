#include "sim/flow_network.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <rapidcheck.h>
#include <vector>

using namespace servecast;

namespace {

constexpr std::int64_t kGiga = 1'000'000'000;

SimTime at_ms(std::int64_t milliseconds) { return SimTime{std::chrono::milliseconds{milliseconds}}; }

FlowNetwork network_of(const std::vector<std::int64_t>& bytes_per_second) { return FlowNetwork(bytes_per_second); }

std::vector<FlowId> ended(FlowNetwork& network, SimTime now) {
  const auto flows = network.advance(now);
  return {flows.begin(), flows.end()};
}

}  // namespace

TEST_CASE("three flows that share two links get the max-min rates, and new ones when one ends") {
  // Link 0 carries 10 GB/s, link 1 carries 4. Flow a crosses 0, b both, c crosses 1.
  //   0 s    link 1 is the scarcer: 4/2 = 2 each for b and c; a takes the rest of link 0: 10 - 2 = 8.
  //   1 s    c has its 2 GB. b: 4 on link 1, less than its half of link 0, 5; a: 10 - 4 = 6.
  //   2 s    b has 2 + 4 = 6 GB. a has 8 + 6 = 14 of 16 GB and is alone: 10.
  //   2.2 s  a has the last 2 GB.
  FlowNetwork network = network_of({10 * kGiga, 4 * kGiga});
  const std::vector<LinkIndex> first{0}, both{0, 1}, second{1};
  const FlowId a = network.start(kStart, first, Bytes{16 * kGiga});
  const FlowId b = network.start(kStart, both, Bytes{6 * kGiga});
  const FlowId c = network.start(kStart, second, Bytes{2 * kGiga});
  CHECK(network.bytes_per_second(a) == 8e9);
  CHECK(network.bytes_per_second(b) == 2e9);
  CHECK(network.bytes_per_second(c) == 2e9);

  REQUIRE(network.next_completion() == at_ms(1000));
  CHECK(ended(network, at_ms(1000)) == std::vector{c});
  CHECK(network.bytes_per_second(a) == 6e9);
  CHECK(network.bytes_per_second(b) == 4e9);

  REQUIRE(network.next_completion() == at_ms(2000));
  CHECK(ended(network, at_ms(2000)) == std::vector{b});
  CHECK(network.bytes_per_second(a) == 10e9);

  REQUIRE(network.next_completion() == at_ms(2200));
  CHECK(ended(network, at_ms(2200)) == std::vector{a});
  CHECK(network.running() == 0);
  CHECK(network.next_completion() == kNever);
}

TEST_CASE("a lone flow takes its bytes over its narrowest link, rounded up to a nanosecond") {
  FlowNetwork network = network_of({450 * kGiga, 3 * kGiga});
  const std::vector<LinkIndex> links{0, 1};
  (void)network.start(at_ms(5), links, Bytes{10});
  CHECK(network.next_completion() == at_ms(5) + Duration{4});  // 3.33
}

TEST_CASE("no bytes and no links end at once") {
  FlowNetwork network = network_of({kGiga});
  const std::vector<LinkIndex> link{0};
  const FlowId empty = network.start(at_ms(1), link, Bytes{0});
  const FlowId nowhere = network.start(at_ms(1), {}, Bytes{100});
  CHECK(network.next_completion() == at_ms(1));
  CHECK(ended(network, at_ms(1)) == std::vector{empty, nowhere});
}

TEST_CASE("flows that end together are told in the order they started") {
  FlowNetwork network = network_of({2 * kGiga});
  const std::vector<LinkIndex> link{0};
  const FlowId a = network.start(kStart, link, Bytes{kGiga});
  const FlowId b = network.start(kStart, link, Bytes{kGiga});
  CHECK(network.next_completion() == at_ms(1000));
  CHECK(ended(network, at_ms(1500)) == std::vector{a, b});
}

TEST_CASE("a cancelled flow tells what it had not delivered, and leaves its share to others") {
  FlowNetwork network = network_of({2 * kGiga});
  const std::vector<LinkIndex> link{0};
  const FlowId a = network.start(kStart, link, Bytes{4 * kGiga});
  const FlowId b = network.start(kStart, link, Bytes{4 * kGiga});
  CHECK(network.cancel(at_ms(1000), a) == Bytes{3 * kGiga});
  CHECK(network.bytes_per_second(b) == 2e9);
  CHECK(network.next_completion() == at_ms(2500));
}

TEST_CASE("an end of one flow between others told late still changes their rates at its own time") {
  FlowNetwork network = network_of({2 * kGiga});
  const std::vector<LinkIndex> link{0};
  const FlowId a = network.start(kStart, link, Bytes{kGiga});
  const FlowId b = network.start(kStart, link, Bytes{3 * kGiga});
  CHECK(ended(network, at_ms(10'000)) == std::vector{a, b});  // at 1 s and, two left at 2 GB/s, at 2 s
}

namespace {

// A flow as the test knows it.
struct Asked {
  std::vector<LinkIndex> links;
  Bytes bytes;
};
using Running = std::map<FlowId, Asked>;

std::vector<LinkIndex> any_links(std::size_t count) {
  std::vector<LinkIndex> links;
  for (LinkIndex link = 0; link < count; ++link) {
    if (*rc::gen::inRange(0, 3) == 0) links.push_back(link);
  }
  if (links.empty()) links.push_back(*rc::gen::inRange<LinkIndex>(0, static_cast<LinkIndex>(count)));
  return links;
}

// Rates are rounded down to whole units, so links keep up to one unit per flow.
constexpr double kUnit = 1e9 / static_cast<double>(FlowNetwork::kUnitsPerByte);

void check_max_min(const FlowNetwork& network, const std::vector<std::int64_t>& capacity, const Running& running) {
  std::vector<double> used(capacity.size()), largest(capacity.size());
  for (const auto& [flow, asked] : running) {
    const double rate = network.bytes_per_second(flow);
    for (const LinkIndex link : asked.links) {
      used[link] += rate;
      largest[link] = std::max(largest[link], rate);
    }
  }
  const double slack = 1e-9 * static_cast<double>(*std::max_element(capacity.begin(), capacity.end())) +
                       kUnit * static_cast<double>(running.size() + 1);
  for (std::size_t link = 0; link < capacity.size(); ++link) {
    RC_ASSERT(used[link] <= static_cast<double>(capacity[link]) * (1 + 1e-12));
  }
  for (const auto& [flow, asked] : running) {
    const double rate = network.bytes_per_second(flow);
    RC_ASSERT(std::any_of(asked.links.begin(), asked.links.end(), [&](LinkIndex link) {
      return used[link] >= static_cast<double>(capacity[link]) - slack && rate >= largest[link] - slack;
    }));
  }
}

// Ends what ends next; every byte asked has been delivered then, and not a nanosecond before.
void end_next(FlowNetwork& network, Running& running) {
  const SimTime end = network.next_completion();
  std::map<FlowId, Wide> delivered;
  for (const auto& [flow, asked] : running) delivered[flow] = network.delivered_units(end, flow);
  for (const FlowId flow : ended(network, end)) {
    RC_ASSERT(delivered.at(flow) == Wide{running.at(flow).bytes.count()} * FlowNetwork::kUnitsPerByte);
    running.erase(flow);
  }
  for (const auto& [flow, asked] : running) {
    RC_ASSERT(network.next_completion() > end);
    RC_ASSERT(network.delivered_units(end, flow) == delivered.at(flow));  // new rates do not touch what was sent
    RC_ASSERT(delivered.at(flow) < Wide{asked.bytes.count()} * FlowNetwork::kUnitsPerByte);
  }
}

}  // namespace

TEST_CASE(
    "whatever starts, ends and is cancelled: links are not overfull, every flow is held by a full link where none "
    "is faster, and every byte arrives") {
  const bool held = rc::check([] {
    const auto capacity = *rc::gen::container<std::vector<std::int64_t>>(
        static_cast<std::size_t>(*rc::gen::inRange(1, 8)), rc::gen::inRange<std::int64_t>(1'000, 900 * kGiga));
    FlowNetwork network(capacity);
    Running running;
    SimTime now = kStart;
    for (int i = *rc::gen::inRange(1, 30); i > 0; --i) {
      const int what = *rc::gen::inRange(0, 4);
      if (what == 0 && !running.empty()) {
        now = network.next_completion();
        end_next(network, running);
      } else if (what == 1 && !running.empty()) {
        const FlowId flow = running.begin()->first;
        const Bytes left = network.cancel(now, flow);
        RC_ASSERT((left > Bytes{0} && left <= running.at(flow).bytes));
        running.erase(flow);
      } else {
        now = std::min(now + Duration{*rc::gen::inRange<std::int64_t>(0, 1'000'000)},
                       network.next_completion() - Duration{1});
        Asked asked{any_links(capacity.size()), Bytes{*rc::gen::inRange<std::int64_t>(1, 10 * kGiga)}};
        const FlowId flow = network.start(now, asked.links, asked.bytes);
        running.emplace(flow, std::move(asked));
      }
      check_max_min(network, capacity, running);
    }
    while (!running.empty()) end_next(network, running);
    RC_ASSERT(network.running() == 0);
  });
  CHECK(held);
}
