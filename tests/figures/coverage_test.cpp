// Every row of the two documents is checked by a test, or named in not_yet.cpp.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "tests/figures/figure.hpp"
#include "tests/figures/rows.hpp"

using namespace servecast;
using namespace servecast::figures;

namespace {

using Ids = std::set<std::string>;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool digit(char c) { return c >= '0' && c <= '9'; }

// Adds every S0-nn and S2-nn of the text.
void collect(std::string_view text, Ids& ids) {
  for (std::size_t at = text.find('S'); at != std::string_view::npos; at = text.find('S', at + 1)) {
    const std::string_view id = text.substr(at, 5);
    if (id.size() < 5 || !(id.starts_with("S0-") || id.starts_with("S2-"))) continue;
    if (digit(id[3]) && digit(id[4])) ids.emplace(id);
  }
}

// The rows that names of test cases begin with, before the colon.
Ids tested() {
  constexpr std::string_view kOpening = "TEST_CASE(";
  Ids ids;
  for (const auto& entry : std::filesystem::directory_iterator(SERVECAST_SOURCE_DIR "/tests/figures")) {
    if (!entry.path().string().ends_with("_test.cpp")) continue;
    const std::string text = text_of(entry.path());
    std::size_t at = text.find(kOpening);
    for (; at != std::string::npos; at = text.find(kOpening, at)) {
      at = text.find('"', at) + 1;  // perhaps on the next line
      const std::string_view rest = std::string_view(text).substr(at);
      collect(rest.substr(0, std::min(rest.find(':'), rest.find('"'))), ids);
    }
  }
  return ids;
}

// The first column of the list's tables.
Ids listed(const std::string& list) {
  Ids ids;
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| S")) collect(std::string_view(line).substr(0, 7), ids);
  }
  return ids;
}

// S0-01 to S0-63 and S2-01 to S2-43.
Ids all_rows() {
  Ids ids;
  const auto add = [&](const std::string& document, int rows) {
    for (int row = 1; row <= rows; ++row) ids.insert(document + (row < 10 ? "-0" : "-") + std::to_string(row));
  };
  add("S0", 63);
  add("S2", 43);
  return ids;
}

Ids named(const std::vector<Row>& rows) {
  Ids ids;
  for (const Row& row : rows) ids.emplace(row.id);
  return ids;
}

}  // namespace

TEST_CASE("every row is tested, or waits for a named part, or is none a simulator can show") {
  const Ids have = tested();
  const Ids waiting = named(not_yet());
  const Ids outside = named(not_a_simulators());
  for (const std::string& id : all_rows()) {
    CAPTURE(id);
    CHECK((have.contains(id) || waiting.contains(id) || outside.contains(id)));
  }
  for (const Ids* ids : {&have, &waiting, &outside}) {
    for (const std::string& id : *ids) {
      CAPTURE(id);
      CHECK(all_rows().contains(id));
    }
  }
}

TEST_CASE("a row that waits is not tested, one that waits partly is, and none is listed twice") {
  const Ids have = tested();
  for (const Row& row : not_yet()) {
    CAPTURE(row.id);
    CHECK(have.contains(std::string(row.id)) == row.partly);
  }
  for (const Row& row : not_a_simulators()) {
    CAPTURE(row.id);
    CHECK_FALSE(have.contains(std::string(row.id)));
    CHECK_FALSE(named(not_yet()).contains(std::string(row.id)));
  }
  CHECK(named(not_yet()).size() == not_yet().size());
  CHECK(named(not_a_simulators()).size() == not_a_simulators().size());
}

TEST_CASE("the rows are those of the list of figures") {
  const std::string list = text_of(SERVECAST_SOURCE_DIR "/../shared/figures.md");
  if (list.empty()) {
    MESSAGE("skipped: shared/figures.md is absent");
    return;
  }
  CHECK(listed(list) == all_rows());
}

TEST_CASE("what is not tested yet is said") {
  std::string text;
  for (const Row& row : not_yet()) {
    text += "\n  " + std::string(row.id) + (row.partly ? " (in part): " : ": ") + std::string(row.why);
  }
  MESSAGE("not yet tested, and what each row waits for:", text);
  CHECK(std::all_of(not_yet().begin(), not_yet().end(), [](const Row& row) { return !row.why.empty(); }));
}
