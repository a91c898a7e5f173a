#include "costmodel/topology.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <limits>
#include <string>

#include "costmodel/device.hpp"
#include "sim/error.hpp"
#include "tests/unit/costmodel/sample_topology.hpp"

using namespace servecast;

namespace {

Topology small() { return parse_topology(kSampleTopology, "small.yaml"); }

std::vector<std::string> names(const Topology& topology, const Route& route) {
  std::vector<std::string> names;
  for (const LinkIndex link : route.links) names.push_back(topology.nodes()[topology.links()[link].to].name);
  return names;
}

std::string changed(const std::string& from, const std::string& to) {
  std::string yaml = kSampleTopology;
  REQUIRE(yaml.find(from) != std::string::npos);
  return yaml.replace(yaml.find(from), from.size(), to);
}

std::string message_of(const std::string& yaml, std::optional<std::int64_t> hosts = std::nullopt) {
  try {
    (void)parse_topology(yaml, "x.yaml", hosts);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a topology is read host by host, with its groups spread in order") {
  const Topology topology = small();
  CHECK(topology.gpu_count() == 8);
  CHECK(topology.hosts() == std::vector<std::vector<GpuIndex>>{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(topology.gpu(5).name == "host-1/gpu-1");
  CHECK(topology.gpu(5).device == "h100-test");
  CHECK(topology.nodes().size() == 2 * 9 + 1);
  CHECK(topology.links().size() == 2 * (2 * (4 + 4 + 2) + 4));
}

TEST_CASE("the way between two GPUs is the one of least latency") {
  const Topology topology = small();
  Routes routes(topology);
  const Route inside = routes.path(0, 3);
  CHECK(names(topology, inside) == std::vector<std::string>{"host-0/nvswitch-0", "host-0/gpu-3"});
  CHECK(inside.latency == Duration{2'000});
  CHECK(inside.bytes_per_second == doctest::Approx(100e9));

  const Route across = routes.path(3, 4);
  CHECK(names(topology, across) == std::vector<std::string>{"host-0/pcie-1", "host-0/nic-1", "leaf-0", "host-1/nic-0",
                                                            "host-1/pcie-0", "host-1/gpu-0"});
  CHECK(across.latency == Duration{4 * 2'000 + 2 * 3'000});
  CHECK(across.bytes_per_second == doctest::Approx(5e9));

  const Route nowhere = routes.path(2, 2);
  CHECK(nowhere.links.empty());
  CHECK(nowhere.latency == Duration{0});
  CHECK(nowhere.bytes_per_second == std::numeric_limits<double>::infinity());
}

TEST_CASE("of ways equally long in time the one with fewer links is taken, then the wider") {
  const auto link = [](NodeIndex from, NodeIndex to, std::int64_t nanoseconds, double rate) {
    return TopologyLink{from, to, LinkMedium::kPcie, rate, 1, Duration{nanoseconds}};
  };
  const auto node = [](const char* name, NodeKind kind) { return TopologyNode{name, kind, 0, {}}; };
  const std::vector<TopologyNode> nodes{node("a", NodeKind::kGpu), node("b", NodeKind::kGpu),
                                        node("s", NodeKind::kSwitch), node("t", NodeKind::kSwitch),
                                        node("u", NodeKind::kSwitch)};
  // a-s-b and a-t-b take 10 ns, t is wider; a-s-u-b too, with a link more.
  std::vector<TopologyLink> links;
  for (const TopologyLink& way : {link(0, 2, 5, 1e9), link(2, 1, 5, 1e9), link(0, 3, 5, 2e9), link(3, 1, 5, 2e9),
                                  link(2, 4, 2, 9e9), link(4, 1, 3, 9e9)}) {
    links.push_back(way);
    links.push_back({way.to, way.from, way.medium, way.bytes_per_second, 1, way.latency});
  }
  const Topology topology("t", "T", nodes, links);
  Routes routes(topology);
  CHECK(names(topology, routes.path(0, 1)) == std::vector<std::string>{"t", "b"});
}

TEST_CASE("no way leads through a GPU that is not an end of it") {
  // a - b - c in a row, all GPUs.
  const auto node = [](const char* name) { return TopologyNode{name, NodeKind::kGpu, 0, {}}; };
  const auto link = [](NodeIndex from, NodeIndex to) {
    return TopologyLink{from, to, LinkMedium::kNvlink, 1e9, 1, Duration{1}};
  };
  CHECK_THROWS_WITH_AS((void)Topology("row", "A row", {node("a"), node("b"), node("c")},
                                      {link(0, 1), link(1, 0), link(1, 2), link(2, 1)}),
                       "hosts: no way leads from a to c", InputError);
  // All pairs joined directly: no switch is needed.
  const Topology mesh("mesh", "A mesh", {node("a"), node("b"), node("c")},
                      {link(0, 1), link(1, 0), link(1, 2), link(2, 1), link(0, 2), link(2, 0)});
  CHECK(Routes(mesh).path(0, 2).links == std::vector<LinkIndex>{4});
}

TEST_CASE("the number of hosts can be chosen") {
  const Topology four = parse_topology(kSampleTopology, "small.yaml", 4);
  CHECK(four.gpu_count() == 16);
  CHECK(Routes(four).path(0, 15).links.size() == 6);
  CHECK(message_of(kSampleTopology, 0) == "hosts: is 0, must be from 1 to 4096");
}

TEST_CASE("groups can be joined each with each, and a group within itself") {
  const Topology topology = parse_topology(
      changed("- {from: gpu, to: nvswitch, type: nvlink}", "- {from: gpu, to: gpu, type: nvlink}"), "x.yaml");
  CHECK(Routes(topology).path(0, 3).links.size() == 1);
  const Topology spine =
      parse_topology(changed("    leaf: {kind: switch}\n  links:\n    - {from: nic, to: leaf, type: wire}\n",
                             "    leaf: {kind: switch, count: 2}\n    spine: {kind: switch, count: 3}\n  links:\n"
                             "    - {from: nic, to: leaf, type: wire}\n"
                             "    - {from: leaf, to: spine, type: wire, wiring: full}\n"),
                     "x.yaml");
  CHECK(spine.links().size() == 2 * (2 * 10 + 4 + 6));
  CHECK(Routes(spine).path(0, 4).links.size() == 8);
}

TEST_CASE("bad topologies are refused with file, line, field and a suggestion") {
  CHECK(message_of(changed("value: 10e9", "value: 0")) ==
        "x.yaml:11: link_types.pcie.bandwidth.value: is 0, must be positive and in range");
  CHECK(message_of(changed("value: 2e-6", "value: -2e-6")) ==
        "x.yaml:12: link_types.pcie.latency.value: is -2e-6, must not be negative");
  CHECK(message_of(changed("value: 2e-6", "value: 0")) == "no error");
  CHECK(message_of(changed("value: 0.8", "value: 1.2")) ==
        "x.yaml:8: link_types.nvlink.efficiency.value: is 1.2, must be positive and in range");
  CHECK(message_of(changed("medium: pcie", "medium: pci")) ==
        "x.yaml:10: link_types.pcie.medium: unknown medium 'pci'; did you mean 'pcie'?");
  CHECK(message_of(changed("kind: nic", "kind: nik")) ==
        "x.yaml:24: hosts.host.nodes.nic.kind: unknown kind of node 'nik'; did you mean 'nic'?");
  CHECK(message_of(changed("to: nvswitch", "to: nvswich")) ==
        "x.yaml:26: hosts.host.links[0].to: unknown group of nodes 'nvswich'; did you mean 'nvswitch'?");
  CHECK(message_of(changed("type: wire", "type: wier")).find("unknown type of link 'wier'") != std::string::npos);
  CHECK(message_of(changed(", source: \"test\"}", "}")) == "x.yaml:6: link_types.nvlink.bandwidth.source: is missing");
  CHECK(message_of(changed("gpu: {kind: gpu, count: 4, device: h100-test}", "gpu: {kind: switch, count: 4}")) ==
        "x.yaml:18: hosts: there is no GPU");
  CHECK(message_of(changed("count: 4, device", "count: 0, device")) ==
        "x.yaml:21: hosts.host.nodes.gpu.count: is 0, must be positive and in range");
  CHECK(message_of(changed("nic: {kind: nic, count: 2}", "nic: {kind: nic, count: 3}")) ==
        "x.yaml:28: hosts.host.links[2]: 3 nodes do not spread evenly over 2; wiring: full joins each with each");
  CHECK(message_of(changed("network:", "netwerk:")).find("did you mean 'network'?") != std::string::npos);
  CHECK(message_of(changed("leaf: {kind: switch}", "leaf: {kind: gpu}")) ==
        "x.yaml:31: network.nodes.leaf.kind: a GPU stands in a host");
  CHECK(message_of("topology: [a\n").find("is not valid YAML") != std::string::npos);
}

TEST_CASE("wiring has no meaning within a group, and more links than a machine could hold are refused") {
  CHECK(message_of(changed("to: nvswitch, type: nvlink}", "to: gpu, type: nvlink, wiring: spread}")) ==
        "x.yaml:26: hosts.host.links[0].wiring: a group joined with itself joins all its pairs, without wiring");
  // All pairs of 1,024 are 523,776 cables.
  const auto spines = [](const std::string& count, const std::string& link) {
    return changed(
        "    leaf: {kind: switch}\n  links:\n",
        "    leaf: {kind: switch}\n    spine: {kind: switch, count: " + count + "}\n  links:\n    - " + link + "\n");
  };
  const std::string within = "{from: spine, to: spine, type: wire}";
  const std::string refused = "x.yaml:34: network.links[0]: more than 1048576 one-way links";
  CHECK(message_of(spines("1024", within)) == "no error");
  CHECK(message_of(spines("1025", within)) == refused);
  CHECK(message_of(spines("65000", within)) == refused);
  const std::string full = "{from: gpu, to: spine, type: wire, wiring: full}";
  CHECK(message_of(spines("32000", full), 4) == "no error");  // 16 GPUs
  CHECK(message_of(spines("33000", full), 4) == refused);
}

TEST_CASE("hosts that nothing joins are refused by the names of two GPUs") {
  std::string alone = kSampleTopology;
  alone.resize(alone.find("network:"));
  CHECK(message_of(alone) == "x.yaml:18: hosts: no way leads from host-0/gpu-0 to host-1/gpu-0");
  CHECK(message_of(alone, 1) == "no error");
}

TEST_CASE("every preset is read, names its file, and its GPUs have a sheet and its NVLink's bandwidth") {
  int presets = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SERVECAST_SOURCE_DIR "/topologies")) {
    if (entry.path().extension() != ".yaml") continue;
    const Topology topology = load_topology(entry.path().string());
    CAPTURE(topology.name());
    CHECK(topology.gpu_count() % 8 == 0);
    const DeviceSheet device = load_device(SERVECAST_SOURCE_DIR "/devices/" + topology.gpu(0).device + ".yaml");
    const Route route = Routes(topology).path(0, 1);
    const TopologyLink& first = topology.links()[route.links.front()];
    CHECK(first.bytes_per_second == device.link.bytes_per_second);
    CHECK((first.medium == LinkMedium::kNvlink) == (device.link.kind == LinkKind::kNvlink));
    ++presets;
  }
  CHECK(presets >= 7);
  const Topology two = load_topology(SERVECAST_SOURCE_DIR "/topologies/dgx-h100.yaml", 2);
  CHECK(Routes(two).path(0, 8).bytes_per_second == doctest::Approx(0.762 * 63e9));
}

TEST_CASE("a thousand GPUs are read and searched quickly enough for tests") {
  const Topology large = load_topology(SERVECAST_SOURCE_DIR "/topologies/dgx-h100.yaml", 128);
  CHECK(large.gpu_count() == 1024);
  Routes routes(large);
  CHECK(routes.path(0, 1023).links.size() == 6);
  CHECK(routes.path(1023, 0).latency == routes.path(0, 1023).latency);
}

TEST_CASE("hosts of different kinds stand in one topology, and then their number is the sheet's") {
  const std::string mixed = changed("network:",
                                    "  old:\n"
                                    "    nodes:\n"
                                    "      gpu: {kind: gpu, count: 2, device: v100-test}\n"
                                    "      nic: {kind: nic}\n"
                                    "    links:\n"
                                    "      - {from: gpu, to: nic, type: pcie}\n"
                                    "network:");
  const Topology topology = parse_topology(mixed, "x.yaml");
  CHECK(topology.hosts() == std::vector<std::vector<GpuIndex>>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}});
  CHECK(topology.gpu(8).name == "old-0/gpu-0");
  CHECK(topology.gpu(8).device == "v100-test");
  Routes routes(topology);
  CHECK(names(topology, routes.path(8, 0)) ==
        std::vector<std::string>{"old-0/nic-0", "leaf-0", "host-0/nic-0", "host-0/pcie-0", "host-0/gpu-0"});
  CHECK(message_of(mixed, 3) == "x.yaml:18: hosts: has several kinds of host, so their number is the sheet's alone");
}
