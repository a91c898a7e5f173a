#include "traces/workload.hpp"

#include <doctest/doctest.h>
#include <vector>

#include "tests/unit/traces/support.hpp"

using namespace servecast;

namespace {

std::shared_ptr<const Trace> three_rows() {
  return std::make_shared<Trace>(read_text("arrival_s,prompt_tokens,output_tokens\n1,10,1\n2,20,2\n4,30,3\n").trace);
}

std::vector<Arrival> drain(ArrivalSource& source) {
  std::vector<Arrival> arrivals;
  while (const std::optional<Arrival> arrival = source.next()) arrivals.push_back(*arrival);
  return arrivals;
}

WorkloadSpec spec_of(ArrivalSpec arrivals, WorkloadLengths lengths, std::optional<std::int64_t> requests = {}) {
  return {.arrivals = arrivals, .lengths = lengths, .requests = requests, .max_tokens = {}, .seed = 1};
}

std::string workload_error(const WorkloadSpec& spec, std::shared_ptr<const Trace> trace = nullptr) {
  return message_of([&] { (void)make_workload(spec, std::move(trace)); });
}

DrawnLengths fixed(std::int64_t prompt, std::int64_t output) {
  return {.prompt = {.shape = FixedLength{prompt}}, .output = {.shape = FixedLength{output}}};
}

}  // namespace

TEST_CASE("a recorded trace is replayed row by row, from 0, with max_tokens pinned") {
  const auto workload = make_workload(spec_of(ArrivalsAsRecorded{}, RowsInOrder{}), three_rows());
  const std::vector<Arrival> arrivals = drain(*workload);
  REQUIRE(arrivals.size() == 3);
  CHECK(arrivals[0].at == kStart);
  CHECK(arrivals[2].at == SimTime{std::chrono::seconds{3}});
  CHECK(arrivals[2].prompt == Tokens{30});
  CHECK(arrivals[2].max_tokens == Tokens{3});
  CHECK(workload->realised().requests == 3);
  CHECK(workload->realised().prompt_tokens == 60);
  CHECK(workload->realised().rate_per_s() == doctest::Approx(2.0 / 3));
  CHECK_FALSE(workload->closed_loop());
}

TEST_CASE("a number for max_tokens is every request's cap") {
  WorkloadSpec spec = spec_of(AllAtOnce{}, RowsInOrder{});
  spec.max_tokens = Tokens{2};
  for (const Arrival& arrival : drain(*make_workload(spec, three_rows()))) {
    CHECK(arrival.at == kStart);
    CHECK(arrival.max_tokens == Tokens{2});
  }
}

TEST_CASE("more requests than rows: refused, or cycled, or resampled, as asked") {
  CHECK(workload_error(spec_of(PoissonArrivals{1}, RowsInOrder{}, 4), three_rows()) ==
        "requests: 4 are more than the 3 rows of the trace; ask for the trace to be resampled or cycled");
  CHECK(workload_error(spec_of(ArrivalsAsRecorded{}, RowsInOrder{true}, 4), three_rows()) ==
        "requests: 4 are more than the 3 recorded arrivals; choose an arrival process, such as poisson");
  const auto cycled = drain(*make_workload(spec_of(PoissonArrivals{1}, RowsInOrder{true}, 4), three_rows()));
  CHECK(cycled[3].prompt == Tokens{10});
  for (const Arrival& arrival :
       drain(*make_workload(spec_of(PoissonArrivals{1}, RowsResampled{}, 100), three_rows()))) {
    CHECK(arrival.prompt.count() == 10 * arrival.output.count());  // pairs stay together
  }
}

TEST_CASE("parts that do not fit are refused") {
  CHECK(workload_error(spec_of(PoissonArrivals{1}, fixed(1, 1))) ==
        "requests: is missing; without a trace their number must be given");
  CHECK(workload_error(spec_of(PoissonArrivals{1}, RowsInOrder{}, 5)) ==
        "workload: has no trace to take lengths from; name a trace, or give lengths");
  CHECK(workload_error(spec_of(PoissonArrivals{1}, fixed(1, 1), 0)) == "requests: must be at least 1");
  CHECK(workload_error(spec_of(PoissonArrivals{-1}, fixed(1, 1), 1)).starts_with("poisson.rate: "));
  const auto lengths = std::make_shared<Trace>(read_text("prompt_tokens,output_tokens\n1,1\n").trace);
  CHECK(workload_error(spec_of(ArrivalsAsRecorded{}, RowsInOrder{}), lengths).starts_with("as-recorded: "));
}

TEST_CASE("synthetic requests are made one at a time, and repeat with the seed") {
  const DrawnLengths lengths{.prompt = {.shape = UniformLength{1, 1000}}, .output = {.shape = ZipfLength{1, 500, 1.1}}};
  const auto one = drain(*make_workload(spec_of(PoissonArrivals{5}, lengths, 1000)));
  const auto two = drain(*make_workload(spec_of(PoissonArrivals{5}, lengths, 1000)));
  REQUIRE(one.size() == 1000);
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(one[i].at == two[i].at);
    CHECK(one[i].prompt == two[i].prompt);
    CHECK(one[i].output == two[i].output);
  }
}

TEST_CASE("another arrival process leaves the lengths as they were") {
  const DrawnLengths lengths{.prompt = {.shape = UniformLength{1, 1000}}, .output = {.shape = FixedLength{1}}};
  const auto poisson = drain(*make_workload(spec_of(PoissonArrivals{5}, lengths, 50)));
  const auto gamma = drain(*make_workload(spec_of(GammaArrivals{5, 3}, lengths, 50)));
  for (std::size_t i = 0; i < poisson.size(); ++i) CHECK(poisson[i].prompt == gamma[i].prompt);
}

TEST_CASE("in a closed loop each client thinks once between an answer and the next question") {
  const auto workload = make_workload(spec_of(ClosedLoop{2, 1.5, false}, fixed(8, 4), 4));
  CHECK(workload->closed_loop());
  CHECK(drain(*workload).size() == 2);  // one a client, at 0
  workload->finished(RequestId{0}, SimTime{std::chrono::seconds{10}});
  const std::vector<Arrival> third = drain(*workload);
  REQUIRE(third.size() == 1);
  CHECK(third[0].at == SimTime{Duration{11'500'000'000}});
  workload->finished(RequestId{1}, SimTime{std::chrono::seconds{20}});
  CHECK(drain(*workload).size() == 1);
  workload->finished(RequestId{2}, SimTime{std::chrono::seconds{30}});
  CHECK(drain(*workload).empty());  // the four were sent
}

TEST_CASE("exponential think times have the mean asked for") {
  const auto workload = make_workload(spec_of(ClosedLoop{1, 2, true}, fixed(8, 4), 100'001));
  double sum = 0;
  SimTime at = workload->next()->at;
  for (int i = 0; i < 100'000; ++i) {
    workload->finished(RequestId{0}, at);
    const SimTime next = workload->next()->at;
    REQUIRE(next >= at);
    sum += seconds(next - at);
    at = next;
  }
  CHECK(sum / 100'000 == doctest::Approx(2).epsilon(0.015));  // 4.5 standard errors
}

TEST_CASE("turns carry all that was said before them, and end where the context is full") {
  const DrawnConversations talk{.turns = {.shape = FixedLength{3}},
                                .question = {.shape = FixedLength{10}},
                                .answer = {.shape = FixedLength{5}},
                                .context = Tokens{1000}};
  std::vector<std::int64_t> prompts;
  for (const Arrival& arrival : drain(*make_workload(spec_of(AllAtOnce{}, talk, 4)))) {
    prompts.push_back(arrival.prompt.count());
  }
  CHECK(prompts == std::vector<std::int64_t>{10, 25, 40, 10});
  DrawnConversations narrow = talk;
  narrow.context = Tokens{30};
  prompts.clear();
  for (const Arrival& arrival : drain(*make_workload(spec_of(AllAtOnce{}, narrow, 3)))) {
    prompts.push_back(arrival.prompt.count());
  }
  CHECK(prompts == std::vector<std::int64_t>{10, 25, 10});
}
