#include "app/experiment/keys.hpp"

namespace servecast::experiments {
namespace {

bool no_pools(const Experiment& e) { return !e.deployment.pools; }

Key optional_section(Key key) {
  key.optional = true;
  return std::move(key).as_section();
}

Key without_pools(Key key) { return optional_section(std::move(key).where(no_pools, "there are no pools")); }

Key at_key(std::string about, Assign assign) {
  return number_key("at_s", "s", {0, kMostSeconds}, std::move(about), std::move(assign)).needed();
}

Key failure_key() {
  const auto of = [](Experiment& e) -> FailureSection& { return e.deployment.failures.back(); };
  return optional_section(
      map_key(
          "failure", "Replicas fail at once; what they serve is sent again.",
          {at_key("When.", [of](Experiment& e, const Scalar& v) { of(e).at_s = v.number; }),
           choice_key("pool", {"prefill", "decode"}, "Whose replicas.",
                      [of](Experiment& e, const Scalar& v) {
                        of(e).pool = v.text == "prefill" ? Role::kPrefill : Role::kDecode;
                      })
               .needed()
               .where([](const Experiment& e) { return e.deployment.pools.has_value(); }, "there are pools"),
           integer_key("replicas", "", {1, 65536},
                       "How many: of those that are there at first, and then, the ones with the highest numbers.",
                       [of](Experiment& e, const Scalar& v) { of(e).replicas = static_cast<int>(v.integer); })
               .with_default("1"),
           number_key(
               "back_after_s", "s", {0, kMostSeconds},
               "Until they take requests again, empty. None of that time counts as up. By default they stay away.",
               [of](Experiment& e, const Scalar& v) { of(e).back_after_s = v.number; }),
           number_key("retry_after_s", "s", {0, kMostSeconds}, "Until the requests that they lost are sent again.",
                      [of](Experiment& e, const Scalar& v) { of(e).retry_after_s = v.number; })
               .with_default("0"),
           boolean_key("keep_tokens",
                       "What had been delivered stays, and is prefilled with the prompt; false: answers start anew.",
                       [of](Experiment& e, const Scalar& v) { of(e).keep_tokens = v.flag; })
               .with_default("false")},
          [](Experiment& e, const Scalar&) { e.deployment.failures.emplace_back(); })
          .one_or_several());
}

Key join_key() {
  const auto of = [](Experiment& e) -> JoinSection& { return *e.deployment.join; };
  return without_pools(
      map_key("join", "Replicas that are not there at first.",
              {at_key("When they are ordered.", [of](Experiment& e, const Scalar& v) { of(e).at_s = v.number; }),
               integer_key("replicas", "", {1, 65536}, "How many, those with the highest numbers.",
                           [of](Experiment& e, const Scalar& v) { of(e).replicas = static_cast<int>(v.integer); })
                   .with_default("1"),
               number_key("cold_start_s", "s", {0, kMostSeconds},
                          "From the order until they take requests; they count as up meanwhile.",
                          [of](Experiment& e, const Scalar& v) { of(e).cold_start_s = v.number; })
                   .with_default("0")},
              [](Experiment& e, const Scalar&) { e.deployment.join.emplace(); }));
}

Key autoscaler_key() {
  const auto of = [](Experiment& e) -> AutoscalerSection& { return *e.deployment.autoscaler; };
  return without_pools(map_key(
      "autoscaler", "Orders replicas and sends them away: ceil(n x measure / target), at most `replicas`.",
      {choice_key("measure", {"busy", "waiting"},
                  "The share of the time in which a replica ran a step, or the requests waiting for each.",
                  [of](Experiment& e, const Scalar& v) {
                    of(e).options.measure = v.text == "busy" ? TargetTrackingOptions::Measure::kBusy
                                                             : TargetTrackingOptions::Measure::kWaiting;
                  })
           .with_default("busy"),
       number_key("target", "", {0, 1e6, true}, "What it is to be.",
                  [of](Experiment& e, const Scalar& v) { of(e).options.target = v.number; })
           .needed(),
       number_key("tolerance", "", {0, 1}, "No change while measure / target is so close to 1.",
                  [of](Experiment& e, const Scalar& v) { of(e).options.tolerance = v.number; })
           .with_default(decimal(TargetTrackingOptions{}.tolerance)),
       integer_key("least", "", {1, 65536}, "Replicas that there are always, and at first.",
                   [of](Experiment& e, const Scalar& v) { of(e).options.least = v.integer; })
           .with_default("1"),
       number_key("every_s", "s", {1e-3, kMostSeconds}, "How often it looks.",
                  [of](Experiment& e, const Scalar& v) { of(e).every_s = v.number; })
           .with_default("15"),
       number_key("provisioning_s", "s", {0, kMostSeconds}, "From the order of a replica until it takes requests.",
                  [of](Experiment& e, const Scalar& v) { of(e).provisioning_s = v.number; })
           .needed()},
      [](Experiment& e, const Scalar&) { e.deployment.autoscaler.emplace(); }));
}

}  // namespace

std::vector<Key> membership_keys() { return {failure_key(), join_key(), autoscaler_key()}; }

}  // namespace servecast::experiments
