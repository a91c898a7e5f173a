#include "costmodel/topology.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/connected_components.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <cmath>
#include <compare>
#include <limits>
#include <mutex>
#include <utility>

namespace servecast {
namespace {

constexpr LinkIndex kNoLink = std::numeric_limits<LinkIndex>::max();

// What a way is chosen by, in this order.
struct PathCost {
  std::int64_t nanoseconds = 0;
  std::int64_t links = 0;
  std::int64_t picoseconds_per_megabyte = 0;

  friend auto operator<=>(const PathCost&, const PathCost&) = default;
  friend PathCost operator+(const PathCost& a, const PathCost& b) {
    return {a.nanoseconds + b.nanoseconds, a.links + b.links, a.picoseconds_per_megabyte + b.picoseconds_per_megabyte};
  }
};

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() / 4;

PathCost cost_of(const TopologyLink& link) {
  const double picoseconds = std::min(1e18 / link.reached(), 1e15);
  return {link.latency.count(), 1, std::llround(picoseconds)};
}

struct LinkProperty {
  LinkIndex index = 0;
  PathCost cost;
};

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, LinkProperty>;
using Edge = boost::graph_traits<Graph>::edge_descriptor;

Graph graph_of(const Topology& topology) {
  Graph graph(topology.nodes().size());
  for (LinkIndex i = 0; i < topology.links().size(); ++i) {
    const TopologyLink& link = topology.links()[i];
    boost::add_edge(link.from, link.to, LinkProperty{i, cost_of(link)}, graph);
  }
  return graph;
}

// Links that a transfer of `source` may take: a GPU passes nothing on.
struct FromSourceOnly {
  const Topology* topology = nullptr;
  const Graph* graph = nullptr;
  NodeIndex source = 0;

  bool operator()(const Edge& edge) const {
    const auto from = static_cast<NodeIndex>(boost::source(edge, *graph));
    return from == source || topology->nodes()[from].kind != NodeKind::kGpu;
  }
};

// The link that leads to each node on the best way from `source`; kNoLink where there is none.
std::vector<LinkIndex> search(const Topology& topology, const Graph& graph, NodeIndex source) {
  const boost::filtered_graph<Graph, FromSourceOnly> open(graph, FromSourceOnly{&topology, &graph, source});
  const std::size_t count = topology.nodes().size();
  std::vector<PathCost> distance(count);
  const auto index = boost::get(boost::vertex_index, open);
  std::vector<LinkIndex> reached_by(count, kNoLink);
  struct Recorder : boost::default_dijkstra_visitor {
    std::vector<LinkIndex>* links;
    void edge_relaxed(const Edge& edge, const boost::filtered_graph<Graph, FromSourceOnly>& g) const {
      (*links)[boost::target(edge, g)] = g[edge].index;
    }
  } recorder;
  recorder.links = &reached_by;
  boost::dijkstra_shortest_paths(open, source,
                                 boost::distance_map(boost::make_iterator_property_map(distance.begin(), index))
                                     .weight_map(boost::get(&LinkProperty::cost, open))
                                     .distance_compare(std::less<>{})
                                     .distance_combine(std::plus<>{})
                                     .distance_inf(PathCost{kFar, kFar, kFar})
                                     .distance_zero(PathCost{})
                                     .visitor(recorder));
  return reached_by;
}

[[noreturn]] void fail_unconnected(const TopologyNode& a, const TopologyNode& b, const InputPlace& place) {
  std::string problem = "no way leads from ";
  throw InputError(place, problem.append(a.name).append(" to ").append(b.name));
}

// Enough, and what nearly every topology has: one connected part without GPUs that all of them are joined to.
bool joined_by_one_part(const Topology& topology) {
  using Undirected = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;
  const auto& nodes = topology.nodes();
  Undirected rest(nodes.size());
  for (const TopologyLink& link : topology.links()) {
    if (nodes[link.from].kind != NodeKind::kGpu && nodes[link.to].kind != NodeKind::kGpu) {
      boost::add_edge(link.from, link.to, rest);
    }
  }
  std::vector<std::size_t> part(nodes.size());
  const std::size_t parts = boost::connected_components(rest, part.data());
  std::vector<std::vector<NodeIndex>> joined(parts);  // GPUs, each as often as links join it
  for (const TopologyLink& link : topology.links()) {
    const bool joins = nodes[link.from].kind == NodeKind::kGpu && nodes[link.to].kind != NodeKind::kGpu;
    if (joins) joined[part[link.to]].push_back(link.from);
  }
  return std::any_of(joined.begin(), joined.end(), [&](std::vector<NodeIndex>& gpus) {
    std::sort(gpus.begin(), gpus.end());
    return std::unique(gpus.begin(), gpus.end()) - gpus.begin() == topology.gpu_count();
  });
}

void check_connected(const Topology& topology, const InputPlace& place) {
  if (joined_by_one_part(topology)) return;
  const Graph graph = graph_of(topology);
  for (GpuIndex from = 0; from < topology.gpu_count(); ++from) {
    const std::vector<LinkIndex> tree = search(topology, graph, topology.node_of(from));
    for (GpuIndex to = 0; to < topology.gpu_count(); ++to) {
      if (to != from && tree[topology.node_of(to)] == kNoLink)
        fail_unconnected(topology.gpu(from), topology.gpu(to), place);
    }
  }
}

}  // namespace

Topology::Topology(std::string name, std::string title, std::vector<TopologyNode> nodes,
                   std::vector<TopologyLink> links, const InputPlace& place)
    : name_(std::move(name)), title_(std::move(title)), nodes_(std::move(nodes)), links_(std::move(links)) {
  for (NodeIndex node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node].host && *nodes_[node].host >= hosts_.size()) hosts_.resize(*nodes_[node].host + 1);
    if (nodes_[node].kind != NodeKind::kGpu) continue;
    hosts_[nodes_[node].host.value()].push_back(gpu_count());
    gpus_.push_back(node);
  }
  if (gpus_.empty()) throw InputError(place, "there is no GPU");
  check_connected(*this, place);
}

std::vector<std::int64_t> Topology::reached_bytes_per_second() const {
  std::vector<std::int64_t> reached;
  reached.reserve(links_.size());
  for (const TopologyLink& link : links_) reached.push_back(std::llround(link.reached()));
  return reached;
}

// The graph, and by source, once asked for, the link that leads to each node.
class Routes::Searched {
 public:
  explicit Searched(const Topology& topology)
      : topology_(topology), graph_(graph_of(topology)), trees_(topology.gpu_count()) {}

  const std::vector<LinkIndex>& from(GpuIndex source) {
    Tree& tree = trees_[source];
    std::call_once(tree.once, [&] { tree.links = search(topology_, graph_, topology_.node_of(source)); });
    return tree.links;
  }

 private:
  struct Tree {
    std::once_flag once;
    std::vector<LinkIndex> links;
  };

  const Topology& topology_;
  const Graph graph_;
  std::vector<Tree> trees_;
};

Routes::Routes(const Topology& topology) : topology_(topology), searched_(std::make_unique<Searched>(topology)) {}

Routes::~Routes() = default;

Route Routes::path(GpuIndex from, GpuIndex to) const {
  Route route;
  route.bytes_per_second = std::numeric_limits<double>::infinity();
  const std::vector<LinkIndex>& tree = searched_->from(from);
  const NodeIndex source = topology_.node_of(from);
  for (NodeIndex node = topology_.node_of(to); node != source;) {
    const TopologyLink& link = topology_.links()[tree[node]];
    route.links.push_back(tree[node]);
    route.latency += link.latency;
    route.bytes_per_second = std::min(route.bytes_per_second, link.reached());
    node = link.from;
  }
  std::reverse(route.links.begin(), route.links.end());
  return route;
}

}  // namespace servecast
