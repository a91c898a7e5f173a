#include "tests/studies/study.hpp"

namespace servecast::test {

TEST_CASE("azure: its predictions hold on the whole traces as recorded") {
  const std::filesystem::path data =
      std::filesystem::path(SERVECAST_SOURCE_DIR) / "../shared/data/traces/azure_llm_2023";
  if (!std::filesystem::is_directory(data)) {
    MESSAGE("skipped: no ../shared/data/traces/azure_llm_2023 beside this tree");
    return;
  }
  const std::vector<RanPoint> points = run_study("azure");
  hold(points, expected_of("azure"));
  for (const RanPoint& point : points) {
    const Json& s = point.summary;
    CHECK_MESSAGE(s.at("completed_requests").get<int>() + s.at("rejected_requests").get<int>() ==
                      s.at("offered_requests").get<int>(),
                  text_of(point.axes));
  }
}

}  // namespace servecast::test
