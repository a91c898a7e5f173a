#include <vector>

#include "app/experiment/edit.hpp"
#include "app/experiment/failures.hpp"
#include "app/experiment/resolve.hpp"

namespace servecast::experiments {
namespace {

class Check {
 public:
  Check(const Node& root, const Experiment& experiment, std::vector<Use>& uses)
      : root_(root), e_(experiment), uses_(uses) {}

  void lengths() const {
    std::vector<std::string> sources;
    for (const char* name : {"lengths", "conversations"}) {
      if (given(name)) sources.emplace_back(name);
    }
    for (const char* name : {"resample", "cycle"}) {
      if (is_true(name)) sources.emplace_back(name);
    }
    if (sources.size() > 1) {
      throw InputError(place(sources[1]), "does not go with '" + sources[0] + "'", "expected one of them");
    }
  }

  void trace() {
    const bool recorded = std::holds_alternative<ArrivalsAsRecorded>(e_.workload.spec.arrivals);
    const bool drawn = given("lengths") || given("conversations");
    if (!e_.workload.trace) {
      if (!drawn) fail("trace", "is missing", "name a trace, or give lengths or conversations");
      if (recorded) fail("arrivals", "as-recorded needs a trace", "choose an arrival process, such as poisson");
      if (!e_.workload.spec.requests) fail("requests", "is missing", "without a trace their number must be given");
      return;
    }
    use("trace", recorded || !drawn, "lengths or arrivals are taken from it");
    if (is_true("cycle")) use("cycle", !recorded, "arrivals are not as-recorded");
    if (e_.workload.trace->tokenizer && e_.workload.trace->characters_per_token) {
      fail("trace.characters_per_token", "does not go with a tokenizer", "expected one of them");
    }
  }

  // The bounds of traces/ hold here too; its checks know neither file nor line.
  void distributions() const {
    within("arrivals", [&] { servecast::check(e_.workload.spec.arrivals); });
    if (const auto* drawn = std::get_if<DrawnLengths>(&e_.workload.spec.lengths)) {
      within("lengths", [&] { servecast::check(drawn->prompt, "prompt"); });
      within("lengths", [&] { servecast::check(drawn->output, "output"); });
    }
    if (const auto* said = std::get_if<DrawnConversations>(&e_.workload.spec.lengths)) {
      within("conversations", [&] { servecast::check(said->turns, "turns"); });
      within("conversations", [&] { servecast::check(said->question, "question"); });
      within("conversations", [&] { servecast::check(said->answer, "answer"); });
    }
  }

  void cost() const {
    if (e_.device.empty() && !e_.profile) {
      throw InputError(root_.place("device"), "is missing", "name a device, or a profile");
    }
    const auto* distserve = std::get_if<DistserveOptions>(&e_.deployment.policy);
    if (distserve == nullptr || !distserve->as_simdistserve || e_.profile) return;
    refuse("deployment.compat", "needs a profile", "name the steps that it computes with: profile: NAME");
  }

  void pools() const {
    const DeploymentSection& d = e_.deployment;
    const ReplicaNeeds needs = replica_needs(d.policy);
    const std::string name(scheduler_name(d.policy));
    if (needs.pools && !d.pools) refuse("deployment.pools", "is missing", name + " needs a prefill and a decode pool");
    if (!d.pools) return;
    if (needs.one_place) {
      refuse("deployment.pools", "does not go with " + name,
             "it keeps a request's memory to the end of its batch or answer");
    }
    if (d.async_scheduling) refuse("deployment.async_scheduling", "does not go with pools", "expected false");
  }

  void pipeline() const {
    const DeploymentSection& d = e_.deployment;
    if (d.pipeline_parallel > 1 && d.async_scheduling) {
      refuse("deployment.async_scheduling", "does not go with pipeline_parallel", "expected false");
    }
    if (!replica_needs(d.policy).places || !d.pools) return;
    const auto one_stage = [&](const std::string& path, int stages) {
      if (stages == 1) return;
      refuse(path, "does not go with " + std::string(scheduler_name(d.policy)), "its machines have one stage");
    };
    one_stage("deployment.pipeline_parallel", d.pipeline_parallel);
    one_stage("deployment.pools.prefill.pipeline_parallel", d.pools->prefill.pipeline_parallel.value_or(1));
    one_stage("deployment.pools.decode.pipeline_parallel", d.pools->decode.pipeline_parallel.value_or(1));
  }

  void membership() const {
    const DeploymentSection& d = e_.deployment;
    if (d.join && d.autoscaler) {
      refuse("deployment.join", "does not go with an autoscaler", "it orders replicas itself");
    }
    if (d.async_scheduling && (!d.failures.empty() || d.join || d.autoscaler)) {
      refuse("deployment.async_scheduling", "does not go with failures, joins or an autoscaler", "expected false");
    }
    if (d.join) some_of("deployment.join.replicas", d.join->replicas, d.replicas, "");
    if (d.join && d.join->replicas == d.replicas) leaves_none("deployment.join.replicas", d.replicas);
    if (d.autoscaler) some_of("deployment.autoscaler.least", d.autoscaler->options.least, d.replicas, "");
    if (d.topology && replica_needs(d.policy).places) {
      refuse("deployment.topology", "does not go with " + std::string(scheduler_name(d.policy)),
             "its machines send KV within a pool too; deployment.pools.transfer says how");
    }
    if (!d.failures.empty() && replica_needs(d.policy).places) {
      refuse("deployment.failure", "does not go with " + std::string(scheduler_name(d.policy)),
             "it decides where a request is decoded before it is prefilled");
    }
    failures();
  }

  void policy() const {
    const auto* options = std::get_if<SglangOptions>(&e_.deployment.policy);
    if (options != nullptr && options->min_new_token_ratio > options->new_token_ratio) {
      refuse("deployment.options.sglang.min_new_token_ratio", "is above new_token_ratio",
             "expected at most " + decimal(options->new_token_ratio));
    }
  }

 private:
  static std::string in_workload(const std::string& name) { return "workload." + name; }
  [[nodiscard]] const Node* find(const std::string& name) const {
    return node_at(root_, split_path(in_workload(name)));
  }
  [[nodiscard]] bool given(const std::string& name) const { return find(name) != nullptr; }
  [[nodiscard]] bool is_true(const std::string& name) const { return given(name) && find(name)->text == "true"; }
  [[nodiscard]] InputPlace place(const std::string& name) const {
    const std::string path = in_workload(name);
    return nearest_node(root_, split_path(path)).place(path);
  }
  [[noreturn]] void refuse(const std::string& path, const std::string& problem, const std::string& hint) const {
    throw InputError(nearest_node(root_, split_path(path)).place(path), problem, hint);
  }
  void some_of(const std::string& path, std::int64_t asked, std::int64_t all, const std::string& when) const {
    if (asked <= all) return;
    std::string problem = "is " + std::to_string(asked);
    problem.append(", but there are only ").append(std::to_string(all)).append(when);
    refuse(path, problem, "expected at most " + std::to_string(all));
  }
  [[noreturn]] void leaves_none(const std::string& path, std::int64_t all) const {
    refuse(path, "leaves no replica", "expected fewer than " + std::to_string(all));
  }

  // Those that fail are there at first, and at that time.
  void failures() const {
    const DeploymentSection& d = e_.deployment;
    for (std::size_t i = 0; i < d.failures.size(); ++i) {
      if (!d.failures[i].back_after_s || !d.autoscaler) continue;
      throw InputError(place_of_failure(i, "back_after_s"), "does not go with an autoscaler",
                       "it orders replicas itself");
    }
    for (const PlannedFailure& planned : plan_failures(d)) {
      const InputPlace place = place_of_failure(planned.section, "replicas");
      const int asked = d.failures[planned.section].replicas;
      const std::string all = std::to_string(planned.there);
      if (asked > planned.there) {
        const bool at_first = !d.pools && there_at_first(d) < d.replicas;
        throw InputError(place,
                         "is " + std::to_string(asked) + ", but there are only " + all +
                             (d.failures.size() > 1 ? " then"
                              : at_first            ? " at first"
                                                    : ""),
                         "expected at most " + all);
      }
      if (planned.left == 0 && !d.join && !d.autoscaler) {
        throw InputError(place, "leaves no replica", "expected fewer than " + all + ", or back_after_s");
      }
    }
  }
  [[nodiscard]] InputPlace place_of_failure(std::size_t index, const std::string& key) const {
    const Path path{"deployment", "failure"};
    const Node& node = nearest_node(root_, path);
    const bool list = node.kind == Node::Kind::kList;
    const std::string field = list ? item_path(join_path(path[0], path[1]), index) : join_path(path[0], path[1]);
    return nearest_node(list ? node.items[index] : node, {key}).place(join_path(field, key));
  }

  [[noreturn]] void fail(const std::string& name, const std::string& problem, const std::string& hint) const {
    throw InputError(place(name), problem, hint);
  }
  void use(const std::string& name, bool used, const char* where) {
    if (given(name)) uses_.push_back({in_workload(name), place(name), used, where});
  }

  template <class F>
  void within(const std::string& name, F run) const {
    try {
      run();
    } catch (const InputError& error) {
      const std::string& field = error.place().field;
      const std::string path = name + "." + field;
      const std::string message = error.what();  // "field: problem; hint"
      throw InputError(place(path), field.empty() ? message : message.substr(field.size() + 2));
    }
  }

  const Node& root_;
  const Experiment& e_;
  std::vector<Use>& uses_;
};

}  // namespace

void check_together(const Node& root, const Experiment& experiment, std::vector<Use>& uses) {
  Check check(root, experiment, uses);
  check.lengths();
  check.trace();
  check.distributions();
  check.policy();
  check.cost();
  check.pools();
  check.pipeline();
  check.membership();
}

}  // namespace servecast::experiments
