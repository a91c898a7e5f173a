#include <vector>

#include "app/experiment/edit.hpp"
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

  void pools() const {
    const DeploymentSection& d = e_.deployment;
    const ReplicaNeeds needs = replica_needs(d.policy);
    const std::string name(scheduler_name(d.policy));
    const auto refuse = [&](const std::string& path, const std::string& problem, const std::string& hint) {
      throw InputError(nearest_node(root_, split_path(path)).place(path), problem, hint);
    };
    if (needs.pools && !d.pools) refuse("deployment.pools", "is missing", name + " needs a prefill and a decode pool");
    if (!d.pools) return;
    if (needs.one_place) {
      refuse("deployment.pools", "does not go with " + name,
             "it keeps a request's memory to the end of its batch or answer");
    }
    if (d.async_scheduling) refuse("deployment.async_scheduling", "does not go with pools", "expected false");
  }

  void membership() const {
    const DeploymentSection& d = e_.deployment;
    const auto few = [&](const std::string& path, std::int64_t asked, const std::string& hint) {
      if (asked < d.replicas) return;
      throw InputError(nearest_node(root_, split_path(path)).place(path), "leaves no replica", hint);
    };
    const std::string hint = "expected fewer than deployment.replicas, " + std::to_string(d.replicas);
    if (d.failure && !d.failure->back_after_s) few("deployment.failure.replicas", d.failure->replicas, hint);
    if (d.failure) few("deployment.failure.replicas", d.failure->replicas - 1, hint);
    if (d.join) few("deployment.join.replicas", d.join->replicas, hint);
    if (d.autoscaler) few("deployment.autoscaler.least", d.autoscaler->options.least - 1, hint);
    if (d.join && d.autoscaler) {
      throw InputError(nearest_node(root_, split_path("deployment.join")).place("deployment.join"),
                       "does not go with an autoscaler", "it orders replicas itself");
    }
    if (d.async_scheduling && (d.failure || d.autoscaler)) {
      const std::string path = "deployment.async_scheduling";
      throw InputError(nearest_node(root_, split_path(path)).place(path), "does not go with failures or an autoscaler",
                       "expected false");
    }
  }

  void policy() const {
    const auto* options = std::get_if<SglangOptions>(&e_.deployment.policy);
    if (options != nullptr && options->min_new_token_ratio > options->new_token_ratio) {
      const std::string path = "deployment.options.sglang.min_new_token_ratio";
      throw InputError(nearest_node(root_, split_path(path)).place(path), "is above new_token_ratio",
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
  check.pools();
  check.membership();
}

}  // namespace servecast::experiments
