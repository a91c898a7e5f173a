#include "traces/csv.hpp"

#include <doctest/doctest.h>

#include "tests/unit/traces/support.hpp"

using namespace servecast;

namespace {

std::vector<std::vector<std::string>> parse(std::string_view text, std::size_t buffer = 256) {
  const auto source = memory_source(text, "t");
  BufferedInput input(*source, buffer);
  CsvReader csv(input);
  std::vector<std::vector<std::string>> rows{csv.header()};
  while (csv.next()) {
    rows.emplace_back();
    for (std::size_t i = 0; i < csv.header().size(); ++i) rows.back().emplace_back(csv.field(i));
  }
  return rows;
}

using Rows = std::vector<std::vector<std::string>>;

std::string csv_error(std::string_view text) {
  return message_of([&] { parse(text); });
}

}  // namespace

TEST_CASE("line ends of either kind, a byte order mark, and a missing last line end are all read") {
  const Rows expected{{"a", "b"}, {"1", "2"}, {"3", "4"}};
  CHECK(parse("a,b\n1,2\n3,4\n") == expected);
  CHECK(parse("a,b\r\n1,2\r\n3,4") == expected);
  CHECK(parse("\xEF\xBB\xBF"
              "a,b\n1,2\n3,4") == expected);
}

TEST_CASE("comments and blank lines are skipped wherever they stand") {
  CHECK(parse("# made by hand\n\na,b\n# in between\n1,2\n\n") == Rows{{"a", "b"}, {"1", "2"}});
}

TEST_CASE("quotes hold commas, quotes and line ends") {
  CHECK(parse("a,b\n\"x,\"\"y\"\"\",\"1\n2\"\n") == Rows{{"a", "b"}, {"x,\"y\"", "1\n2"}});
  CHECK(parse("a,b\n,\n") == Rows{{"a", "b"}, {"", ""}});
}

TEST_CASE("a record longer than the buffer is read whole") {
  const std::string field(10'000, 'x');
  CHECK(parse("a,b\n" + field + ",1\n2,3\n", 16) == Rows{{"a", "b"}, {field, "1"}, {"2", "3"}});
}

TEST_CASE("a fault in a CSV file is told by line and column") {
  CHECK(csv_error("a,b\n1,2\n3\n") == "t:3: has 1 fields; the header has 2");
  CHECK(csv_error("a,b\n1,\"x\"y\n") == "t:2: column 6: text after a closing quote");
  CHECK(csv_error("a,b\n1,\"x\n2,3\n") == "t:2: column 3: the quote is never closed");
  CHECK(csv_error("# only a comment\n") == "t: holds no rows; expected a header line and rows");
}

TEST_CASE("the line of an error counts the lines inside quotes") {
  CHECK(csv_error("a,b\n\"1\n1\",2\n3\n") == "t:4: has 1 fields; the header has 2");
}
