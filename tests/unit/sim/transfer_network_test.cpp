#include "sim/transfer_network.hpp"

#include <doctest/doctest.h>

using namespace servecast;

namespace {

SimTime at_ms(std::int64_t ms) { return SimTime{std::chrono::milliseconds{ms}}; }
constexpr ReplicaId kFrom{0}, kTo{1};

}  // namespace

TEST_CASE("a direct link takes its latency and the bytes over its bandwidth, whatever else is on it") {
  DirectLinks links(1e6, std::chrono::milliseconds{2});
  CHECK(links.alone(Bytes{3000}) == std::chrono::milliseconds{5});
  const TransferId first = links.start(at_ms(0), kFrom, kTo, Bytes{3000});
  const TransferId second = links.start(at_ms(1), kFrom, kTo, Bytes{1000});
  CHECK(links.next_look() == at_ms(4));
  CHECK(links.ended_by(at_ms(4)).front() == second);
  CHECK(links.ended_by(at_ms(5)).front() == first);
  CHECK(links.next_look() == kNever);
}

TEST_CASE("a transfer that is cut is never told of, and the others end as they would have") {
  DirectLinks links(1e6, Duration{0});
  std::vector<TransferId> ids;
  for (const std::int64_t bytes : {5000, 1000, 3000, 2000})
    ids.push_back(links.start(at_ms(0), kFrom, kTo, Bytes{bytes}));
  links.cut(at_ms(1), ids[3]);
  std::vector<TransferId> ended;
  for (SimTime next = links.next_look(); next != kNever; next = links.next_look()) {
    for (const TransferId id : links.ended_by(next)) ended.push_back(id);
  }
  CHECK(ended == std::vector<TransferId>{ids[1], ids[2], ids[0]});
}
