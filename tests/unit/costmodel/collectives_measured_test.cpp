// Predicted collectives beside measured ones: NVIDIA AIConfigurator's tables (Apache-2.0, 2026), whose NCCL is 2.27.3
// and 2.29.2, while costmodel/nccl_tuning.hpp is of 2.20.3. Its constants are not fitted to the tables, nor are those
// of topologies/ but one: the bandwidth between the sockets of pcie-l40s is worked back from a row of the table of
// L40S. The engine's all-reduce takes its latency and its share of the link from the device's sheet and efficiency,
// which are fitted to them too (up to 128 MB). All bounds here were set after the errors were seen, a little above
// them: they guard against regressions and say nothing of machines that the tables lack.
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "costmodel/collectives.hpp"

using namespace servecast;

namespace {

const std::string kTables = SERVECAST_SOURCE_DIR "/../shared/data/profiles/aiconfigurator/";

struct Row {
  std::string what;
  std::int64_t ranks = 0;
  double bytes = 0;
  double seconds = 0;
};

// op or kernel, dtype (two bytes), ranks, elements, milliseconds
std::vector<Row> read_table(const std::string& path) {
  std::vector<Row> rows;
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::vector<std::string> cells;
    std::stringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
    if (cells[1] != "half" && cells[1] != "bfloat16") continue;
    rows.push_back({cells[0], std::stoll(cells[2]), 2 * std::stod(cells[3]), 1e-3 * std::stod(cells[4])});
  }
  return rows;
}

double predicted(const Row& row, const Collectives& group) {
  if (row.what == "all_reduce") return group.nccl_all_reduce(row.bytes).seconds;
  if (row.what == "alltoall") return group.all_to_all(row.bytes).seconds;
  if (row.what == "vLLM_custom_graph") return group.custom_all_reduce(row.bytes).seconds;
  return group.all_gather(row.bytes).seconds;
}

struct Machine {
  const char* topology;
  const char* device;
  std::string table;
};

using Wanted = bool (*)(const Row&);

struct Error {
  double mean = 0;  // of |predicted / measured - 1|
  std::size_t rows = 0;
};

// For each kind of collective that the table has.
std::map<std::string, Error> mean_errors(const Machine& machine, Wanted wanted) {
  const Topology topology =
      load_topology(SERVECAST_SOURCE_DIR "/topologies/" + std::string(machine.topology) + ".yaml");
  const DeviceSheet device = load_device(SERVECAST_SOURCE_DIR "/devices/" + std::string(machine.device) + ".yaml");
  Routes routes(topology);
  std::map<std::string, std::vector<double>> errors;
  for (const Row& row : read_table(kTables + machine.table)) {
    if (row.what == "vLLM_custom_eager" || !wanted(row)) continue;  // eager: the host decides, not the link
    std::vector<GpuIndex> ranks(static_cast<std::size_t>(row.ranks));
    std::iota(ranks.begin(), ranks.end(), GpuIndex{0});
    const Collectives group(routes, ranks, CustomAllReduce::of(device));
    errors[row.what].push_back(std::abs(predicted(row, group) / row.seconds - 1));
  }
  std::map<std::string, Error> means;
  for (const auto& [what, list] : errors) {
    const double sum = std::accumulate(list.begin(), list.end(), 0.0);
    means[what] = {sum / static_cast<double>(list.size()), list.size()};
    MESSAGE(machine.table << " " << what << ": mean error " << std::lround(100 * means[what].mean) << " % of "
                          << list.size());
  }
  return means;
}

// All four kinds, of 2, 4 and 8 ranks in 21 sizes each.
void check_nccl(const Machine& machine, double bound) {
  const auto errors = mean_errors(machine, [](const Row&) { return true; });
  CAPTURE(machine.table);
  for (const char* what : {"all_gather", "all_reduce", "alltoall", "reduce_scatter"}) {
    CAPTURE(what);
    REQUIRE(errors.count(what) == 1);
    CHECK(errors.at(what).rows == 63);
    CHECK(errors.at(what).mean < bound);
  }
}

void check_custom(const Machine& machine, Wanted wanted, std::size_t rows, double bound) {
  const auto errors = mean_errors(machine, wanted);
  CAPTURE(machine.table);
  REQUIRE(errors.count("vLLM_custom_graph") == 1);
  CHECK(errors.at("vLLM_custom_graph").rows == rows);
  CHECK(errors.at("vLLM_custom_graph").mean < bound);
}

bool absent() {
  if (std::filesystem::exists(kTables)) return false;
  MESSAGE("skipped: shared/data is absent");
  return true;
}

}  // namespace

TEST_CASE("regression guard: NCCL's collectives on Hopper with NVSwitch within a quarter on average, 512 B to 512 MB") {
  if (absent()) return;
  check_nccl({"dgx-h100", "h100-sxm", "h100_sxm/nccl_2.29.2.csv"}, 0.25);
  check_nccl({"dgx-h200", "h200", "h200_sxm/nccl_2.29.2.csv"}, 0.25);
}

TEST_CASE("regression guard: on A100, whose steps take half as long again as NCCL counts on, within 42 %") {
  if (absent()) return;
  check_nccl({"dgx-a100", "a100-80g-sxm", "a100_sxm/nccl_2.27.3.csv"}, 0.42);
}

TEST_CASE("regression guard: vLLM's own all-reduce within a sixth on average where vLLM uses it") {
  if (absent()) return;
  const auto used = [](const Row& row) { return row.bytes < 8 << 20; };
  check_custom({"dgx-h100", "h100-sxm", "h100_sxm/vllm_custom_allreduce.csv"}, used, 45, 0.16);
  check_custom({"dgx-h200", "h200", "h200_sxm/vllm_custom_allreduce.csv"}, used, 45, 0.16);
  check_custom({"dgx-a100", "a100-80g-sxm", "a100_sxm/vllm_custom_allreduce.csv"}, used, 45, 0.16);
}

// The topology's bandwidth between sockets is worked back from four GPUs of the same table, and held here against
// eight. Small messages are left out: no engine uses this kernel for eight GPUs over PCIe, so its latency there is not
// modelled.
TEST_CASE(
    "regression guard: large two-shot all-reduces of eight L40S take what crosses the sockets, within a seventh") {
  if (absent()) return;
  const auto large = [](const Row& row) { return row.ranks == 8 && row.bytes >= 16 << 20; };
  check_custom({"pcie-l40s", "l40s", "l40s/vllm_custom_allreduce.csv"}, large, 7, 0.14);
}
