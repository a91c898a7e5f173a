// From a topology sheet to its graph. docs/topology.md describes the file.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "costmodel/sheet.hpp"
#include "costmodel/topology.hpp"

namespace servecast {
namespace {

using Names = SheetNode::Names;

constexpr std::int64_t kMostNodes = std::int64_t{1} << 16;
constexpr std::size_t kMostLinks = std::size_t{1} << 20;  // one-way; all pairs of 1,024 nodes fit

std::string numbered(const std::string& name, std::int64_t index) {
  std::string text = name;
  return text.append("-").append(std::to_string(index));
}

struct LinkType {
  LinkMedium medium = LinkMedium::kPcie;
  double bytes_per_second = 0;
  double efficiency = 1;
  Duration latency{0};
};

using LinkTypes = std::map<std::string, LinkType>;
using Groups = std::map<std::string, std::vector<NodeIndex>>;

Names names_of(const LinkTypes& types) {
  Names names;
  for (const auto& [name, type] : types) names.push_back(name);
  return names;
}

LinkMedium read_medium(const SheetNode& type) {
  const std::string medium = type.choice("medium", {"nvlink", "pcie", "socket", "network"}, "medium");
  if (medium == "nvlink") return LinkMedium::kNvlink;
  if (medium == "pcie") return LinkMedium::kPcie;
  return medium == "socket" ? LinkMedium::kSocket : LinkMedium::kNetwork;
}

LinkTypes read_link_types(const SheetNode& sheet) {
  LinkTypes types;
  const SheetNode section = sheet.at("link_types");
  for (const std::string& name : section.keys()) {
    const SheetNode entry = section.open(name, {"medium", "bandwidth", "latency", "efficiency"});
    LinkType type;
    type.medium = read_medium(entry);
    type.bytes_per_second = entry.quantity("bandwidth", "B/s", 1e15);
    if (type.bytes_per_second < 1000) entry.at("bandwidth").at("value").fail("must be at least 1000 B/s");
    type.latency = from_seconds(entry.quantity_or_zero("latency", "s", 10));
    if (entry.has("efficiency")) type.efficiency = entry.share("efficiency");
    types.emplace(name, type);
  }
  return types;
}

NodeKind read_node_kind(const SheetNode& group) {
  const std::string kind = group.choice("kind", {"gpu", "switch", "cpu", "nic"}, "kind of node");
  if (kind == "gpu") return NodeKind::kGpu;
  if (kind == "switch") return NodeKind::kSwitch;
  return kind == "cpu" ? NodeKind::kCpu : NodeKind::kNic;
}

// Builds nodes and links part by part: each host, then the network.
class Builder {
 public:
  explicit Builder(LinkTypes types) : types_(std::move(types)) {}

  // `prefix` is the host's name with its slash, or empty.
  Groups add_nodes(const SheetNode& section, const std::string& prefix, std::optional<std::uint32_t> host);
  void add_links(const SheetNode& owner, const Groups& groups);
  // Groups of the same name follow each other, host by host.
  static void merge(const Groups& groups, Groups& all);

  std::vector<TopologyNode> nodes;
  std::vector<TopologyLink> links;

 private:
  const LinkType& type_of(const SheetNode& entry) const;
  static const std::vector<NodeIndex>& members(const SheetNode& entry, const std::string& key, const Groups& groups);
  void wire(const SheetNode& entry, const std::vector<NodeIndex>& from, const std::vector<NodeIndex>& to,
            const LinkType& type);
  void connect(NodeIndex a, NodeIndex b, const LinkType& type);
  void check_room(const SheetNode& entry, std::size_t cables) const;

  LinkTypes types_;
};

Groups Builder::add_nodes(const SheetNode& section, const std::string& prefix, std::optional<std::uint32_t> host) {
  Groups groups;
  for (const std::string& name : section.keys()) {
    const SheetNode group = section.open(name, {"kind", "count", "device"});
    TopologyNode node;
    node.kind = read_node_kind(group);
    node.host = host;
    if (group.has("device")) node.device = group.text("device");
    if (node.kind == NodeKind::kGpu && !host) group.at("kind").fail("a GPU stands in a host");
    if (node.kind != NodeKind::kGpu && !node.device.empty()) group.at("device").fail("only a GPU has a device");
    const std::int64_t count = group.has("count") ? group.whole("count", kMostNodes) : 1;
    for (std::int64_t i = 0; i < count; ++i) {
      node.name = prefix + numbered(name, i);
      groups[name].push_back(static_cast<NodeIndex>(nodes.size()));
      nodes.push_back(node);
    }
    if (std::ssize(nodes) > kMostNodes) group.fail("more than " + std::to_string(kMostNodes) + " nodes");
  }
  return groups;
}

const LinkType& Builder::type_of(const SheetNode& entry) const {
  return types_.at(entry.choice("type", names_of(types_), "type of link"));
}

const std::vector<NodeIndex>& Builder::members(const SheetNode& entry, const std::string& key, const Groups& groups) {
  Names names;
  for (const auto& [name, group] : groups) names.push_back(name);
  return groups.at(entry.choice(key, names, "group of nodes"));
}

void Builder::connect(NodeIndex a, NodeIndex b, const LinkType& type) {
  links.push_back({a, b, type.medium, type.bytes_per_second, type.efficiency, type.latency});
  links.push_back({b, a, type.medium, type.bytes_per_second, type.efficiency, type.latency});
}

void Builder::check_room(const SheetNode& entry, std::size_t cables) const {
  if (links.size() + 2 * cables > kMostLinks) entry.fail("more than " + std::to_string(kMostLinks) + " one-way links");
}

void Builder::wire(const SheetNode& entry, const std::vector<NodeIndex>& from, const std::vector<NodeIndex>& to,
                   const LinkType& type) {
  const bool full = entry.has("wiring") && entry.choice("wiring", {"spread", "full"}, "wiring") == "full";
  if (&from == &to) {
    if (entry.has("wiring")) entry.at("wiring").fail("a group joined with itself joins all its pairs, without wiring");
    check_room(entry, from.size() * (from.size() - 1) / 2);
    for (std::size_t i = 0; i < from.size(); ++i) {
      for (std::size_t j = i + 1; j < from.size(); ++j) connect(from[i], from[j], type);
    }
    return;
  }
  if (full) {
    check_room(entry, from.size() * to.size());
    for (const NodeIndex a : from) {
      for (const NodeIndex b : to) connect(a, b, type);
    }
    return;
  }
  const std::size_t more = std::max(from.size(), to.size());
  const std::size_t fewer = std::min(from.size(), to.size());
  if (more % fewer != 0) {
    entry.fail(std::to_string(more) + " nodes do not spread evenly over " + std::to_string(fewer),
               "wiring: full joins each with each");
  }
  check_room(entry, more);
  for (std::size_t i = 0; i < more; ++i) connect(from[i * from.size() / more], to[i * to.size() / more], type);
}

void Builder::add_links(const SheetNode& owner, const Groups& groups) {
  if (!owner.has("links")) return;
  for (const SheetNode& entry : owner.at("links").items()) {
    entry.check_keys({"from", "to", "type", "wiring"});
    const std::vector<NodeIndex>& from = members(entry, "from", groups);
    const std::vector<NodeIndex>& to = members(entry, "to", groups);
    if (&from == &to && from.size() == 1) entry.fail("joins a node with itself");
    wire(entry, from, to, type_of(entry));
  }
}

void Builder::merge(const Groups& groups, Groups& all) {
  for (const auto& [name, group] : groups) {
    std::vector<NodeIndex>& together = all[name];
    together.insert(together.end(), group.begin(), group.end());
  }
}

std::int64_t host_count(const SheetNode& kind, std::optional<std::int64_t> wanted) {
  const std::int64_t most = 4096;
  if (!wanted) return kind.has("count") ? kind.whole("count", most) : 1;
  if (*wanted < 1 || *wanted > most) {
    throw InputError({{}, 0, "hosts"}, "is " + std::to_string(*wanted) + ", must be from 1 to 4096");
  }
  return *wanted;
}

// Of all hosts, by name, for the links of the network.
Groups add_hosts(const SheetNode& sheet, std::optional<std::int64_t> wanted, Builder& builder) {
  const SheetNode section = sheet.at("hosts");
  const Names kinds = section.keys();
  if (wanted && kinds.size() > 1) section.fail("has several kinds of host, so their number is the sheet's alone");
  Groups all;
  std::uint32_t host = 0;
  for (const std::string& name : kinds) {
    const SheetNode kind = section.open(name, {"count", "nodes", "links"});
    const std::int64_t count = host_count(kind, wanted);
    for (std::int64_t i = 0; i < count; ++i) {
      const Groups groups = builder.add_nodes(kind.at("nodes"), numbered(name, i) + "/", host++);
      builder.add_links(kind, groups);
      Builder::merge(groups, all);
    }
  }
  return all;
}

Topology read_topology(const SheetNode& sheet, std::optional<std::int64_t> hosts) {
  sheet.check_keys({"topology", "name", "link_types", "hosts", "network"});
  const std::string name = sheet.text("topology");
  const std::string title = sheet.text("name");
  Builder builder(read_link_types(sheet));
  Groups groups = add_hosts(sheet, hosts, builder);
  if (sheet.has("network")) {
    const SheetNode network = sheet.open("network", {"nodes", "links"});
    const Groups own = builder.add_nodes(network.at("nodes"), {}, std::nullopt);
    for (const auto& [group, members] : own) {
      if (groups.count(group) > 0) network.at("nodes").key_of(group).fail("is the name of a group in a host too");
    }
    Builder::merge(own, groups);
    builder.add_links(network, groups);
  }
  // What the whole graph lacks stands in no single line: the hosts' is where to begin.
  return {name, title, std::move(builder.nodes), std::move(builder.links), sheet.at("hosts").place()};
}

}  // namespace

Topology load_topology(const std::string& path, std::optional<std::int64_t> hosts) {
  Topology topology = parse_topology(read_sheet_file(path), path, hosts);
  check_sheet_name(topology.name(), path, "topology");
  return topology;
}

Topology parse_topology(const std::string& yaml, const std::string& file, std::optional<std::int64_t> hosts) {
  return read_topology(SheetNode::parse(yaml, file), hosts);
}

}  // namespace servecast
