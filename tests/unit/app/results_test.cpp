#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "app/results/file_writer.hpp"
#include "app/results/metrics.hpp"
#include "app/results/point_files.hpp"
#include "app/results/results_folder.hpp"
#include "app/results/study_files.hpp"
#include "app/results/text_table.hpp"
#include "sim/error.hpp"

namespace servecast {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A folder of its own, gone at the end.
struct Scratch {
  Scratch() {
    std::string name = (fs::temp_directory_path() / "servecast-test-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Scratch() { fs::remove_all(path); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  fs::path path;
};

std::string message_of(const fs::path& name) {
  try {
    const ResultsFolder folder(name);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

// What stands between backticks in `cell`.
std::vector<std::string> quoted_words(const std::string& cell) {
  std::vector<std::string> words;
  std::size_t from = cell.find('`');
  while (from != std::string::npos) {
    const std::size_t to = cell.find('`', from + 1);
    words.push_back(cell.substr(from + 1, to - from - 1));
    from = cell.find('`', to + 1);
  }
  return words;
}

// A key with `*` written out.
void add_expanded(const std::string& key, std::set<std::string>& keys) {
  const std::size_t star = key.find('*');
  if (star == std::string::npos) {
    keys.insert(key);
    return;
  }
  for (const char* statistic : {"mean", "p50", "p90", "p95", "p99", "max"}) {
    keys.insert(std::string(key).replace(star, 1, statistic));
  }
}

// The keys in the first cells of the tables of docs/results.md below "## summary.json".
std::set<std::string> documented_keys() {
  std::ifstream page(SERVECAST_SOURCE_DIR "/docs/results.md");
  std::set<std::string> keys;
  bool within = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) within = line == "## summary.json";
    if (!within || !line.starts_with("| `")) continue;
    for (const std::string& key : quoted_words(line.substr(0, line.find('|', 1)))) add_expanded(key, keys);
  }
  return keys;
}

// The keys at the first level of JSON that is indented by two.
std::set<std::string> top_level_keys(const std::string& json) {
  std::istringstream lines(json);
  std::set<std::string> keys;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  \"")) keys.insert(line.substr(3, line.find('"', 3) - 3));
  }
  return keys;
}

PointResult result_without_requests() {
  PointResult result;
  result.run.usable_blocks = Blocks{10};
  result.run.block_size = Tokens{16};
  return result;
}

}  // namespace

TEST_CASE("the keys of summary.json are those that docs/results.md lists") {
  const GridPoint grid;
  PreparedPoint point;
  point.deployment.memory.stages.resize(1);  // no pipeline
  point.point = &grid;
  const std::set<std::string> written = top_level_keys(summary_json(point, result_without_requests()));
  const std::set<std::string> documented = documented_keys();
  CHECK(documented.size() > 80);
  for (const std::string& key : written) CHECK_MESSAGE(documented.contains(key), "written, not documented: " << key);
  for (const std::string& key : documented) CHECK_MESSAGE(written.contains(key), "documented, not written: " << key);
}

TEST_CASE("requests.csv holds exact times, and nothing where nothing was measured") {
  RequestTable requests;
  Request& done = requests.add({SimTime{Duration{1}}, Tokens{7}, Tokens{3}, Tokens{5}});
  done.first_token_at = SimTime{Duration{1'000'000'002}};
  done.last_token_at = SimTime{Duration{1'000'000'007}};
  done.emitted = 3;
  done.max_itl = Duration{3};
  done.preemptions = 2;
  done.outcome = Outcome::kCompleted;
  done.time_in(Cause::kDecode) = Duration{1'000'000'006};
  Request& refused = requests.add({SimTime{std::chrono::seconds{2}}, Tokens{9}, Tokens{4}, Tokens{4}});
  refused.outcome = Outcome::kRejected;
  refused.refusal = Refusal::kCache;

  const Scratch scratch;
  write_requests_csv(scratch.path / "requests.csv", requests);
  std::istringstream lines(contents(scratch.path / "requests.csv"));
  std::string header, first, second, none;
  std::getline(lines, header);
  std::getline(lines, first);
  std::getline(lines, second);
  CHECK_FALSE(std::getline(lines, none));
  const std::string zero = ",0.000000000";
  // A mean gap of 2.5 ns rounds up.
  CHECK(first == "0,0.000000001,7,3,5,completed,,0,1.000000001,0.000000003,1.000000006,0.000000003,2" + zero + zero +
                     zero + zero + zero + zero + ",1.000000006" + zero + zero + zero + zero + zero + zero + zero +
                     zero);
  CHECK(second == "1,2.000000000,9,0,4,rejected,cache,0,,,,,0" + zero + zero + zero + zero + zero + zero + zero + zero +
                      zero + zero + zero + zero + zero + zero + zero);
  CHECK(std::count(header.begin(), header.end(), ',') == std::count(first.begin(), first.end(), ','));
  CHECK(std::count(header.begin(), header.end(), ',') == std::count(second.begin(), second.end(), ','));
}

TEST_CASE("a results folder has its name only when it is whole") {
  const Scratch scratch;
  const fs::path name = scratch.path / "results" / "one";
  {
    ResultsFolder folder(name);
    write_file(folder.partial() / "manifest.json", "first");
    CHECK_FALSE(fs::exists(name));
    CHECK(fs::exists(folder.partial()));
    folder.commit();
  }
  CHECK(contents(name / "manifest.json") == "first");
  {
    const ResultsFolder abandoned(name);
    write_file(abandoned.partial() / "manifest.json", "second");
  }
  CHECK(contents(name / "manifest.json") == "first");
  {
    ResultsFolder folder(name);
    write_file(folder.partial() / "manifest.json", "third");
    folder.commit();
  }
  CHECK(contents(name / "manifest.json") == "third");
  // Nothing else is left, neither the old results nor marks.
  CHECK(std::distance(fs::directory_iterator(scratch.path / "results"), fs::directory_iterator{}) == 1);
  CHECK(std::distance(fs::directory_iterator(name), fs::directory_iterator{}) == 1);
}

TEST_CASE("a folder that is not ours is neither replaced nor removed") {
  const Scratch scratch;
  write_file(scratch.path / "thesis.tex", "years of work");
  CHECK(message_of(scratch.path) ==
        scratch.path.string() + ": exists and holds no results of servecast; choose another folder with --out");
  fs::create_directories(scratch.path / "a.partial");
  CHECK(message_of(scratch.path / "a") ==
        (scratch.path / "a.partial").string() +
            ": exists and was not made by servecast; move it or choose another --out");
  CHECK(contents(scratch.path / "thesis.tex") == "years of work");
  write_file(scratch.path / "file", "");
  CHECK(message_of(scratch.path / "file") != "");
  CHECK(message_of(scratch.path / "file" / "below") != "");
}

TEST_CASE("two runs do not write the same results, and an interrupted one is cleared away") {
  const Scratch scratch;
  const fs::path name = scratch.path / "one";
  {
    const ResultsFolder writing(name);
    CHECK(message_of(name).find("another run is writing these results") != std::string::npos);
  }
  fs::create_directories(scratch.path / "one.partial");
  write_file(scratch.path / "one.partial" / ".being-written", "");
  write_file(scratch.path / "one.partial" / "table.csv", "half");
  ResultsFolder folder(name);
  CHECK_FALSE(fs::exists(folder.partial() / "table.csv"));
}

TEST_CASE("points have folders of their own unless there is one") {
  CHECK(point_folder(0, 1) == "");
  CHECK(point_folder(7, 12) == "point-007");
  CHECK(point_folder(1234, 2000) == "point-1234");
}

TEST_CASE("numbers are printed for people") {
  CHECK(human_seconds(0.0004321) == "432 us");
  CHECK(human_seconds(0.0431) == "43.1 ms");
  CHECK(human_seconds(0.9994) == "999 ms");
  CHECK(human_seconds(0.9996) == "1.00 s");
  CHECK(human_seconds(1.236) == "1.24 s");
  CHECK(human_seconds(1812) == "30.2 min");
  CHECK(human_seconds(7500) == "2 h 05 min");
  CHECK(human_seconds(0) == "0 s");
  CHECK(human_count(0) == "0");
  CHECK(human_count(999) == "999");
  CHECK(human_count(-1234567) == "-1,234,567");
  CHECK(human_number(0.01234) == "0.0123");
  CHECK(human_number(4.5) == "4.50");
  CHECK(human_number(1234.4) == "1,234");
  CHECK(human_number(9.999) == "10.0");
  CHECK(human_number(0.09996) == "0.100");
  CHECK(human_bytes(16e9) == "16.00 GB (14.90 GiB)");
}

TEST_CASE("a table lines up, whatever bytes its characters take") {
  TextTable table;
  table.column("policy", TextTable::Align::kLeft);
  table.column("µs");
  table.row({"vllm-v1", "7"});
  table.row({"orca", "1,234"});
  CHECK(table.text() == "policy      µs\n-------  -----\nvllm-v1      7\norca     1,234\n");
}

TEST_CASE("CSV cells are quoted where they must be") {
  CHECK(csv_cell("plain") == "plain");
  CHECK(csv_cell("a,b") == "\"a,b\"");
  CHECK(csv_cell("say \"x\"") == "\"say \"\"x\"\"\"");
}

}  // namespace servecast
