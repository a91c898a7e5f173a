// deployment.topology, from the file to a run.
#include <doctest/doctest.h>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/results/planned.hpp"
#include "app/results/point_files.hpp"
#include "app/run/goodput.hpp"
#include "app/run/sweep.hpp"
#include "costmodel/roofline.hpp"
#include "sim/error.hpp"
#include "tests/unit/app/experiment_support.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

const std::string kDrawn =
    "workload: {lengths: {prompt: {fixed: 100}, output: {fixed: 20}}, requests: 40, arrivals: {uniform: {rate: 20}}}\n";
constexpr std::int64_t kBlock = 16 * 131'072;  // bytes of Llama-3.1-8B's KV for 16 tokens

std::string deployed(const std::string& keys, const std::string& more = {}) {
  return kHead + kDrawn + "deployment:\n  policy: vllm-v1\n" + keys + more;
}

// Two hosts: two H100 over NVLink and a card; two A100 with a card each.
const std::string kMixed = R"(topology: mixed
name: H100 and A100
link_types:
  nvlink: {medium: nvlink, bandwidth: {value: 400e9, unit: B/s, source: t}, latency: {value: 1e-6, unit: s, source: t}}
  card: {medium: network, bandwidth: {value: 10e9, unit: B/s, source: t}, latency: {value: 1e-6, unit: s, source: t}}
hosts:
  new:
    nodes: {gpu: {kind: gpu, count: 2, device: h100-sxm}, nvswitch: {kind: switch}, nic: {kind: nic}}
    links: [{from: gpu, to: nvswitch, type: nvlink}, {from: nic, to: nvswitch, type: nvlink}]
  old:
    nodes: {card: {kind: gpu, count: 2, device: a100-80g-sxm}}
network:
  nodes: {switch: {kind: switch}}
  links: [{from: nic, to: switch, type: card}, {from: card, to: switch, type: card}]
)";

// A study in a folder of its own, with a topology sheet beside it.
struct Files {
  ExperimentFile file;
  Study study;
  TraceCache traces;
  std::vector<PreparedPoint> points;

  Files(const std::string& text, const std::string& sheet, const std::string& name = "mixed.yaml") : file(text) {
    std::ofstream(file.path().parent_path() / name, std::ios::binary) << sheet;
    study = load_study(file.path());
    points = prepare_sweep(study, traces);
  }
};

nlohmann::json summary_of(const PreparedPoint& prepared) {
  RequestTable requests;
  const PointResult result = run_point(prepared, requests);
  return nlohmann::json::parse(summary_json(prepared, result));
}

nlohmann::json summary_of(const std::string& text, const std::string& sheet = {}) {
  const Files files(text, sheet);
  REQUIRE(files.points.size() == 1);
  return summary_of(files.points.front());
}

// The message, without the folder in front of "exp.yaml".
std::string refused(const std::string& text, const std::string& sheet = {}) {
  try {
    const Files files(text, sheet);
  } catch (const InputError& error) {
    std::string message = error.what();
    for (std::size_t at; (at = message.find("/tmp/servecast-experiment-")) != std::string::npos;) {
      message.erase(at, message.find('/', at + 5) + 1 - at);
    }
    return message;
  }
  return {};
}

std::string without(std::string text, const std::string& part, const std::string& instead = {}) {
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), instead);
}

// Two GPUs of one host over one link.
std::string two_over(const std::string& bandwidth, const std::string& latency) {
  return "topology: mixed\nname: Two\nlink_types:\n  fat: {medium: network, bandwidth: {value: " + bandwidth +
         ", unit: B/s, source: t}, latency: {value: " + latency +
         ", unit: s, source: t}}\nhosts:\n  host:\n    nodes: {gpu: {kind: gpu, count: 2}}\n    links: [{from: gpu, "
         "to: "
         "gpu, type: fat}]\n";
}

}  // namespace

TEST_CASE("a topology is a name, a path, or either with a number of hosts") {
  CHECK_FALSE(experiment(deployed("")).deployment.topology);
  CHECK(experiment(deployed("  topology: dgx-h100\n")).deployment.topology->sheet == "dgx-h100");
  const Experiment more = experiment(deployed("  topology: {sheet: dgx-h100, hosts: 2}\n"));
  CHECK(more.deployment.topology->hosts == 2);
  CHECK(more.deployment.topology->place.line == 7);
  CHECK(error_of(deployed("  topology: {hosts: 2}\n")).find("deployment.topology.sheet: is missing") !=
        std::string::npos);
  CHECK(error_of(deployed("  topology: {sheet: dgx-h100, hosts: 0}\n")).find("deployment.topology.hosts") !=
        std::string::npos);
}

TEST_CASE("a topology's links carry KV, so that a link between pairs is refused beside it and needed without it") {
  const std::string both = error_of(deployed("  topology: dgx-h100\n  pools: {transfer: {bytes_per_s: 1e9}}\n"));
  CHECK(both.find("exp.yaml:8: deployment.pools.transfer.bytes_per_s: has no effect; it applies only where there is no "
                  "deployment.topology") != std::string::npos);
  CHECK(error_of(deployed("  topology: dgx-h100\n  pools: {transfer: {latency_s: 1}}\n")).find("latency_s") !=
        std::string::npos);
  CHECK(error_of(deployed("  pools: {prefill: {replicas: 2}}\n")).find("transfer.bytes_per_s: is missing") !=
        std::string::npos);
  CHECK(experiment(deployed("  topology: dgx-h100\n  pools: {transfer: {overlapped: true}}\n"))
            .deployment.pools->pull.overlapped);
}

TEST_CASE("an all-reduce costs what it sends over the links between the GPUs that a replica got") {
  GridPoint point;
  point.experiment = experiment(deployed("  topology: {sheet: dgx-h100, hosts: 2}\n  tensor_parallel: 16\n"));
  TraceCache traces;
  const PreparedPoint prepared = prepare_point(point, traces);
  REQUIRE(prepared.fleet);
  const Placed placed = prepared.fleet->placed(0);
  REQUIRE(placed.replica.stages.front().size() == 16);  // more than a host has: without a topology it is refused
  StepShape shape;
  shape.decode_sequences = shape.sampled_rows = 8;
  shape.decode_context = shape.decode_window_context = Tokens{8000};
  const Deployment& d = prepared.deployment;
  const auto group = std::make_shared<Collectives>(prepared.fleet->routes(), placed.replica.stages.front(),
                                                   CustomAllReduce::of(d.device));
  RooflineModel model(d.model, d.device, d.dtypes, Sharding{16}, HostTime{}, Interconnect{group, nullptr});
  CHECK(make_executor(d, placed)->start(StepId{0}, shape, kStart)->length == model.cost(shape).device);
  CHECK(refused(deployed("  tensor_parallel: 16\n")).find("exceed the 8 devices") != std::string::npos);
}

TEST_CASE("replicas stand on GPUs of their pool's device, and the files say on which") {
  const Files files(deployed("  topology: mixed.yaml\n  pools: {prefill: {tensor_parallel: 2}, decode: {replicas: 2, "
                             "device: a100-80g-sxm}}\n"),
                    kMixed);
  const PreparedPoint& prepared = files.points.front();
  const auto planned = nlohmann::json::parse(planned_json(prepared));
  CHECK(planned.at("topology") == "mixed");
  CHECK(planned.at("placement").dump() == R"([[["new-0/gpu-0","new-0/gpu-1"]],[["old-0/card-0"]],[["old-0/card-1"]]])");
  const nlohmann::json summary = summary_of(prepared);
  CHECK(summary.at("devices") == 4);
  CHECK(summary.at("notes").dump().find(
            "placed on mixed, 2 hosts: prefill on new-0 (2 GPUs); decode on old-0 (2 GPUs)") != std::string::npos);
}

TEST_CASE("from two ranks to one and from one to two the KV goes once, and takes what its narrowest links take") {
  // Seven blocks of a prompt of 100 tokens. From the H100s' card of 10 GB/s to a card of the receiver's, 10 GB/s too;
  // two parts of one transfer share them. Hops: NVLink, NVLink, card, card: 4 us.
  const auto two_to_one = summary_of(
      deployed("  topology: mixed.yaml\n  pools: {prefill: {tensor_parallel: 2}, decode: {device: a100-80g-sxm}}\n"),
      kMixed);
  CHECK(two_to_one.at("kv_transfers") == 40);
  CHECK(two_to_one.at("kv_transferred_bytes") == 40 * 7 * kBlock);
  CHECK(two_to_one.at("transfer_count") == 40);
  const double alone = 7 * kBlock / 10e9 + 4e-6;
  CHECK(two_to_one.at("transfer_mean_s").get<double>() == doctest::Approx(alone).epsilon(1e-6).scale(0));
  CHECK(two_to_one.at("transfer_p99_s").get<double>() == doctest::Approx(alone).epsilon(1e-6).scale(0));
  const double busy = 40 * 7 * kBlock / 10e9 / two_to_one.at("duration_s").get<double>();
  CHECK(two_to_one.at("kv_busiest_link_share").get<double>() == doctest::Approx(busy).scale(0));

  // The other way round each of the two has a card of its own, but the sender has one.
  const auto one_to_two = summary_of(
      deployed("  topology: mixed.yaml\n  pools: {decode: {tensor_parallel: 2, device: a100-80g-sxm}}\n"), kMixed);
  CHECK(one_to_two.at("kv_transferred_bytes") == 40 * 7 * kBlock);
  CHECK(one_to_two.at("transfer_mean_s").get<double>() == doctest::Approx(alone).epsilon(1e-6).scale(0));

  // From a card each to the H100s' one card: half of it for each part.
  const auto from_two = summary_of(
      without(
          deployed("  topology: mixed.yaml\n  pools: {prefill: {tensor_parallel: 2}, decode: {device: h100-sxm}}\n"),
          "h100-sxm", "a100-80g-sxm"),
      kMixed);
  CHECK(from_two.at("kv_transferred_bytes") == 40 * 7 * kBlock);
  CHECK(from_two.at("transfer_mean_s").get<double>() == doctest::Approx(alone).epsilon(1e-6).scale(0));
}

TEST_CASE("a topology of one fat link is the link between a pair") {
  // 16 bytes a nanosecond: no rounding anywhere, the same run to the digest.
  const std::string pools = "  pools: {decode: {replicas: 1}";
  const auto over_link = summary_of(deployed(pools + ", transfer: {bytes_per_s: 16e9, latency_s: 3e-6}}\n"));
  const auto over_topology = summary_of(deployed("  topology: mixed.yaml\n" + pools + "}\n"), two_over("16e9", "3e-6"));
  CHECK(over_topology.at("digest") == over_link.at("digest"));
  CHECK(over_topology.at("transfer_p99_s") == over_link.at("transfer_p99_s"));
  CHECK(over_topology.at("kv_busiest_link_share").is_number());
  CHECK(over_link.at("kv_busiest_link_share").is_null());
  // A bandwidth that divides nothing: a nanosecond for each transfer, which a replica that waits for 40 adds up.
  const auto odd_link = summary_of(deployed(pools + ", transfer: {bytes_per_s: 7123456789, latency_s: 3e-6}}\n"));
  const auto odd = summary_of(deployed("  topology: mixed.yaml\n" + pools + "}\n"), two_over("7123456789", "3e-6"));
  const auto apart = [&](const char* key) {
    return std::abs(odd.at(key).get<double>() - odd_link.at(key).get<double>());
  };
  CHECK(apart("transfer_mean_s") <= 1.1e-9);
  CHECK(apart("transfer_max_s") <= 1.1e-9);
  CHECK(apart("e2e_mean_s") <= 40 * 1.1e-9);
}

// A step through the empty pipeline lasts as long as both stages and the way between them.
TEST_CASE("the stages of a pipeline stand on the topology, and what they hand on goes over its links") {
  const auto length = [](const std::string& topology) {
    GridPoint point;
    point.experiment = experiment(deployed(topology + "  tensor_parallel: 4\n  pipeline_parallel: 2\n"));
    TraceCache traces;
    const PreparedPoint prepared = prepare_point(point, traces);
    REQUIRE(prepared.fleet);
    const Placed placed = prepared.fleet->placed(0);
    REQUIRE(placed.replica.stages.size() == 2);
    StepShape shape;
    shape.decode_sequences = shape.sampled_rows = 8;
    shape.decode_context = shape.decode_window_context = Tokens{8000};
    const Deployment& d = prepared.deployment;
    PipelineModel model(d.model, d.device, d.dtypes, d.parallelism, HostTime{}, placed);
    const Duration expected =
        model.stage_cost(0, shape).device + model.handoff_time(0, shape) + model.stage_cost(1, shape).device;
    CHECK(make_executor(d, placed)->start(StepId{0}, shape, kStart)->length == expected);
    return expected;
  };
  CHECK(length("  topology: dgx-h100\n") > Duration{0});
  const auto summary = summary_of(deployed("  topology: dgx-h100\n  tensor_parallel: 4\n  pipeline_parallel: 2\n"));
  CHECK(summary.at("devices") == 8);
  CHECK(summary.at("completed_requests") == 40);
}

TEST_CASE("with one pool nothing crosses the links but all-reduces") {
  const auto summary = summary_of(deployed("  topology: dgx-h100\n  replicas: 4\n  tensor_parallel: 2\n"));
  CHECK(summary.at("kv_transfers") == 0);
  CHECK(summary.at("kv_transferred_bytes") == 0);
  CHECK(summary.at("transfer_count") == 0);
  CHECK(summary.at("transfer_mean_s").is_null());
  CHECK(summary.at("kv_busiest_link_share").is_null());
  CHECK(summary.at("completed_requests") == 40);
}

TEST_CASE("replicas that have no room are refused at the experiment's line, with how many GPUs are lacking") {
  CHECK(
      refused(deployed("  topology: dgx-h100\n  replicas: 3\n  tensor_parallel: 4\n")) ==
      "exp.yaml:7: deployment.topology: the replicas need 12 GPUs of device h100-sxm, and dgx-h100 with 1 host has 8: "
      "4 too few; give it more hosts, or ask for fewer replicas");
  CHECK(refused(deployed("  topology: dgx-a100\n")) ==
        "exp.yaml:7: deployment.topology: dgx-a100 has no h100-sxm; its GPUs are a100-80g-sxm");
  // Six GPUs would be enough for three replicas of two, but each host has room for one.
  const std::string hosts_of_three =
      without(without(kMixed, "count: 2, device: a100-80g-sxm", "count: 3, device: h100-sxm"),
              "count: 2, device: h100-sxm", "count: 3, device: h100-sxm");
  CHECK(
      refused(deployed("  topology: mixed.yaml\n  replicas: 3\n  tensor_parallel: 2\n"), hosts_of_three)
          .find("exp.yaml:7: deployment.topology: no room for replica 2: tensor_parallel: no host of mixed has 2 GPUs "
                "left") == 0);
}

TEST_CASE("a topology that is wrong is refused where it is wrong") {
  CHECK(refused(deployed("  topology: dgx-h10\n")) ==
        "exp.yaml:7: deployment.topology: unknown topology 'dgx-h10'; did you mean 'dgx-h100'?");
  CHECK(refused(deployed("  topology: gone.yaml\n")).find("exp.yaml:7: deployment.topology: no file") == 0);
  const std::string one = deployed("  topology: mixed.yaml\n");
  CHECK(
      refused(one, without(kMixed, "value: 10e9", "value: 0")).find("mixed.yaml:5: link_types.card.bandwidth.value") ==
      0);
  CHECK(refused(one, without(kMixed, "unit: B/s, source: t}, latency: {value: 1e-6",
                             "unit: B/s, source: t}, latency: {value: -1e-6"))
            .find("mixed.yaml:4: link_types.nvlink.latency.value") == 0);
  CHECK(refused(one, without(kMixed, "{from: nic, to: switch, type: card}, ")).find("no way leads from") !=
        std::string::npos);
  CHECK(refused(deployed("  topology: {sheet: mixed.yaml, hosts: 2}\n"), kMixed).find("several kinds of host") !=
        std::string::npos);
  CHECK(refused(deployed("  topology: {sheet: pcie-l40s, hosts: 2}\n")).find("no way leads from") != std::string::npos);
}

TEST_CASE("a sweep over topologies gives the same bytes on any number of threads") {
  const std::string text =
      deployed("  pools: {prefill: {replicas: 2}, decode: {replicas: 2}, transfer: {overlapped: true}}\n",
               "sweep: {deployment.topology: [dgx-h100, {sheet: dgx-h100, hosts: 2}], workload.requests: [40, 60]}\n");
  const Files files(text, {});
  REQUIRE(files.points.size() == 4);
  const auto bytes = [&](int threads) {
    std::vector<std::string> all(files.points.size());
    for_each_point(files.points, threads, [&](std::size_t i) { all[i] = summary_of(files.points[i]).dump(); });
    return all;
  };
  CHECK(bytes(1) == bytes(4));
}

TEST_CASE("runs of one placed point at the same time find the same ways") {
  const Files files(deployed("  topology: {sheet: dgx-h100, hosts: 2}\n  tensor_parallel: 2\n  pools: {prefill: "
                             "{replicas: 4}, decode: {replicas: 4}}\n"),
                    {});
  const std::vector<PreparedPoint> copies(8, files.points.front());
  std::vector<std::string> all(copies.size());
  for_each_point(copies, 4, [&](std::size_t i) { all[i] = summary_of(copies[i]).dump(); });
  for (const std::string& each : all) CHECK(each == all.front());
}

TEST_CASE("goodput over a topology counts the devices of all replicas") {
  const Files files(deployed("  topology: dgx-h100\n  replicas: 2\n  tensor_parallel: 2\n",
                             "slo: {ttft_s: 1, tpot_s: 0.1}\nhorizon_s: 100\n"),
                    {});
  CHECK(device_count(files.points.front()) == 4);
  CHECK(find_goodput(files.points.front(), 1, 0.2).rate_per_s > 0);
}
