// What a user gets wrong in a topology or in placing replicas on it: one line that names the place, exit code 2.
#include <doctest/doctest.h>

#include "tests/cli/program.hpp"

namespace servecast::test {
namespace {

// Two hosts of two GPUs each; `own.yaml`.
const std::string kSheet = R"(topology: own
name: Two hosts
link_types:
  bus:
    medium: pcie
    bandwidth: {value: 31.5e9, unit: B/s, source: test}
    latency: {value: 0.5e-6, unit: s, source: test}
  wire:
    medium: network
    bandwidth: {value: 12.5e9, unit: B/s, source: test}
    latency: {value: 0, unit: s, source: test}
hosts:
  box:
    count: 2
    nodes: {gpu: {kind: gpu, count: 2, device: h100-sxm}, nic: {kind: nic}}
    links: [{from: gpu, to: nic, type: bus}]
network:
  nodes: {switch: {kind: switch}}
  links:
    - {from: nic, to: switch, type: wire}
)";

std::string changed(const std::string& part, const std::string& instead) {
  std::string sheet = kSheet;
  const std::size_t at = sheet.find(part);
  REQUIRE(at != std::string::npos);
  return sheet.replace(at, part.size(), instead);
}

// The topology stands in line 11.
void check_refused(const std::string& deployment, const std::string& sheet, std::initializer_list<const char*> parts) {
  const Folder folder;
  folder.write("own.yaml", sheet);
  folder.write("exp.yaml", experiment("  lengths: {prompt: {fixed: 100}, output: {fixed: 5}}\n"
                                      "  arrivals: {poisson: {rate: 20}}\n"
                                      "  requests: 40\n",
                                      "  memory_reserve_bytes: 0\n" + deployment));
  check_refused(folder, folder.run("run exp.yaml"), parts);
}

}  // namespace

TEST_CASE("an unknown topology is refused with its line and the closest known one") {
  check_refused("  topology: dgx-h10\n", kSheet,
                {"exp.yaml:11: deployment.topology", "unknown topology 'dgx-h10'; did you mean 'dgx-h100'?"});
}

TEST_CASE("GPUs without a way between them are refused, both named") {
  check_refused("  topology: own.yaml\n", changed("    - {from: nic, to: switch, type: wire}", "    []"),
                {"own.yaml:13: hosts", "no way leads from box-0/gpu-0 to box-1/gpu-0"});
}

TEST_CASE("a link of no bandwidth, or of negative latency, is refused with its line") {
  check_refused("  topology: own.yaml\n", changed("value: 12.5e9", "value: 0"),
                {"own.yaml:10: link_types.wire.bandwidth.value", "must be positive"});
  check_refused("  topology: own.yaml\n", changed("value: 0.5e-6", "value: -0.5e-6"),
                {"own.yaml:7: link_types.bus.latency.value", "-"});
}

TEST_CASE("replicas that need more GPUs than there are are refused, and how many are lacking") {
  check_refused(
      "  topology: own.yaml\n  pools: {prefill: {replicas: 2, tensor_parallel: 2}, decode: {replicas: 3}}\n", kSheet,
      {"exp.yaml:11: deployment.topology", "need 7 GPUs of device h100-sxm, and own with 2 hosts has 4: 3 too few"});
  check_refused("  topology: {sheet: own.yaml, hosts: 1}\n  tensor_parallel: 4\n", kSheet,
                {"exp.yaml:11: deployment.topology", "with 1 host has 2: 2 too few"});
}

TEST_CASE("a topology and a bandwidth between pools are refused together") {
  check_refused("  topology: own.yaml\n  pools: {transfer: {bytes_per_s: 1e9}}\n", kSheet,
                {"exp.yaml:12: deployment.pools.transfer.bytes_per_s", "there is no deployment.topology"});
}

}  // namespace servecast::test
