// Predicted collectives beside measured ones: NVIDIA AIConfigurator's tables (Apache-2.0, 2026). No constant of
// costmodel/nccl_tuning.hpp or of topologies/ is fitted to them, but the engine's all-reduce takes its latency and its
// share of the link from the device's sheet and efficiency, which are (up to 128 MB).
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

// Mean of |predicted / measured - 1| for each kind of collective.
std::map<std::string, double> mean_errors(const Machine& machine, Wanted wanted) {
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
  std::map<std::string, double> means;
  for (const auto& [what, list] : errors) {
    means[what] = std::accumulate(list.begin(), list.end(), 0.0) / static_cast<double>(list.size());
    MESSAGE(machine.table << " " << what << ": mean error " << std::lround(100 * means[what]) << " % of "
                          << list.size());
  }
  return means;
}

bool absent() {
  if (std::filesystem::exists(kTables)) return false;
  MESSAGE("skipped: shared/data is absent");
  return true;
}

}  // namespace

TEST_CASE("NCCL's collectives on Hopper with NVSwitch are predicted within a quarter on average, 512 B to 512 MB") {
  if (absent()) return;
  for (const Machine& machine : {Machine{"dgx-h100", "h100-sxm", "h100_sxm/nccl_2.29.2.csv"},
                                 Machine{"dgx-h200", "h200", "h200_sxm/nccl_2.29.2.csv"}}) {
    for (const auto& [what, error] : mean_errors(machine, [](const Row&) { return true; })) {
      CAPTURE(what);
      CHECK(error < 0.25);
    }
  }
}

TEST_CASE("on A100, whose measured steps are half as long again as NCCL counts on, within two fifths") {
  if (absent()) return;
  for (const auto& [what, error] :
       mean_errors({"dgx-a100", "a100-80g-sxm", "a100_sxm/nccl_2.27.3.csv"}, [](const Row&) { return true; })) {
    CAPTURE(what);
    CHECK(error < 0.42);
  }
}

TEST_CASE("vLLM's own all-reduce is predicted within a sixth on average where vLLM uses it") {
  if (absent()) return;
  for (const Machine& machine : {Machine{"dgx-h100", "h100-sxm", "h100_sxm/vllm_custom_allreduce.csv"},
                                 Machine{"dgx-h200", "h200", "h200_sxm/vllm_custom_allreduce.csv"},
                                 Machine{"dgx-a100", "a100-80g-sxm", "a100_sxm/vllm_custom_allreduce.csv"}}) {
    const double error =
        mean_errors(machine, [](const Row& row) { return row.bytes <= 8 << 20; }).at("vLLM_custom_graph");
    CHECK(error < 0.16);
  }
}

// The topology's bandwidth between sockets is worked back from four GPUs, and held here against eight. Small messages
// are left out: no engine uses this kernel for eight GPUs over PCIe, so its latency there is not modelled.
TEST_CASE("large two-shot all-reduces of eight L40S take what crosses the sockets, within a seventh") {
  if (absent()) return;
  const auto errors = mean_errors({"pcie-l40s", "l40s", "l40s/vllm_custom_allreduce.csv"},
                                  [](const Row& row) { return row.ranks == 8 && row.bytes >= 16 << 20; });
  CHECK(errors.at("vLLM_custom_graph") < 0.14);
}
