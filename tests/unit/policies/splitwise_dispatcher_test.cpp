#include <doctest/doctest.h>

#include "policies/disaggregated/splitwise.hpp"
#include "sim/router_view.hpp"

using namespace servecast;

namespace {

using Pool = SplitwiseDispatcher::Pool;

// Machines of 1,000 tokens each, those of the prompt pool first; at most 100 tokens pending where a queue is.
class Cluster {
 public:
  Cluster(std::uint32_t prompts, std::uint32_t tokens)
      : loads_(prompts + tokens, Load::kWaiting, true), dispatcher_(options(), machines(prompts, tokens)) {
    for (std::uint32_t i = 0; i < prompts + tokens; ++i) loads_.takes_requests(ReplicaId{i}, true);
  }

  // "0>2": prefilled at machine 0, decoded at machine 2.
  std::string place(std::int64_t prompt, std::int64_t output) {
    const RoutedRequest request{RequestId{placed_++}, kStart, Tokens{prompt}, Tokens{output}, 0};
    const Destinations at = dispatcher_.place(request, loads_.view());
    return std::to_string(index_of(at.prefill)) + ">" + std::to_string(index_of(at.decode));
  }
  void queue(std::uint32_t machine, std::int64_t requests) { loads_.waiting(ReplicaId{machine}, requests); }
  void reached(std::uint32_t request, Milestone milestone) { dispatcher_.reached(RequestId{request}, milestone); }

 private:
  static SplitwiseOptions options() {
    SplitwiseOptions options;
    options.max_pending_tokens = Tokens{100};
    return options;
  }
  static std::vector<SplitwiseDispatcher::Machine> machines(std::uint32_t prompts, std::uint32_t tokens) {
    std::vector<SplitwiseDispatcher::Machine> list(prompts, {Pool::kPrompt, Tokens{1000}});
    list.insert(list.end(), tokens, {Pool::kToken, Tokens{1000}});
    return list;
  }

  ReplicaLoads loads_;
  SplitwiseDispatcher dispatcher_;
  std::uint32_t placed_ = 0;
};

}  // namespace

TEST_CASE("a prompt goes where the fewest tokens are pending, an answer where the least memory is promised") {
  Cluster cluster(2, 2);
  CHECK(cluster.place(60, 10) == "0>2");
  CHECK(cluster.place(80, 10) == "1>3");
  CHECK(cluster.place(30, 40) == "0>2");  // 60 against 80 pending; 70 against 90 promised
  CHECK(cluster.place(10, 10) == "1>3");  // 90 against 80; 140 against 90
  cluster.reached(0, Milestone::kPrefilled);
  CHECK(cluster.place(10, 10) == "0>3");  // 30 against 90; 140 against 110
}

TEST_CASE("memory is promised for prompt and answer until the answer has ended") {
  Cluster cluster(1, 2);
  CHECK(cluster.place(900, 50) == "0>1");
  CHECK(cluster.place(10, 40) == "0>2");
  cluster.reached(0, Milestone::kPrefilled);
  CHECK(cluster.place(10, 10) == "0>2");  // 950 against 50
  cluster.reached(0, Milestone::kMoved);
  CHECK(cluster.place(10, 10) == "0>2");
  cluster.reached(0, Milestone::kEnded);
  CHECK(cluster.place(10, 10) == "0>1");
}

TEST_CASE("a queue is long when a request is in it and too many tokens are pending; without one it takes any prompt") {
  Cluster cluster(1, 2);
  CHECK(cluster.place(90, 1) == "0>1");
  CHECK(cluster.place(90, 1) == "0>2");  // nobody waits
  cluster.queue(0, 1);
  CHECK(cluster.place(200, 1) == "1>1");  // borrowed: of equally pending ones the first, as for its answer
}

TEST_CASE("as many pending tokens as a queue may have are not too many") {
  Cluster cluster(1, 1);
  cluster.place(60, 1);
  cluster.queue(0, 1);
  CHECK(cluster.place(40, 1) == "0>1");
  CHECK(cluster.place(1, 1) == "1>1");
}

// Machine 0 computes prompts, 1 to 3 are of the token pool.
TEST_CASE("mixed machines come before others are borrowed, and return when they have nothing left to do") {
  Cluster cluster(1, 3);
  CHECK(cluster.place(100, 1) == "0>1");
  cluster.queue(0, 1);
  CHECK(cluster.place(50, 500) == "2>2");  // 2 has fewer pending tokens than 1, and less promised; it is mixed now
  CHECK(cluster.place(50, 1) == "2>3");    // nobody waits at 2; of the token machines 3 has the least promised
  cluster.queue(2, 1);
  CHECK(cluster.place(60, 1) == "1>3");   // 2 has 101 pending: another one is borrowed
  CHECK(cluster.place(1, 900) == "1>0");  // no token or mixed machine has 901 left: the prompt pool lends one
  cluster.reached(1, Milestone::kEnded);
  cluster.reached(2, Milestone::kEnded);
  CHECK(cluster.place(60, 1) == "1>2");  // 2 is a token machine again; were it mixed, 3 would come first
}

TEST_CASE("a prompt machine is borrowed by the memory that it has promised: its prompts, until their KV has left") {
  Cluster cluster(2, 1);
  CHECK(cluster.place(500, 400) == "0>2");
  CHECK(cluster.place(50, 100) == "1>1");  // 2 has promised 900; of the prompt pool 1 has promised nothing
  cluster.reached(1, Milestone::kEnded);
  cluster.reached(0, Milestone::kPrefilled);
  CHECK(cluster.place(50, 100) == "0>1");  // 500 against 0
  cluster.reached(2, Milestone::kEnded);
  cluster.reached(0, Milestone::kMoved);
  CHECK(cluster.place(50, 100) == "0>0");
}

TEST_CASE("where a phase finds no machine, the least pending one does both") {
  Cluster cluster(1, 1);
  CHECK(cluster.place(90, 1) == "0>1");
  cluster.queue(0, 1);
  CHECK(cluster.place(60, 1) == "1>1");
  cluster.queue(1, 1);
  CHECK(cluster.place(70, 1) == "1>1");  // 90 against 62
  CHECK(cluster.place(70, 1) == "0>0");  // 90 against 133
}
