#include "app/experiment/keys.hpp"

namespace servecast::experiments {
namespace {

using PoolOf = PoolSection& (*)(Experiment&);
PoolSection& prefill(Experiment& e) { return e.deployment.pools->prefill; }
PoolSection& decode(Experiment& e) { return e.deployment.pools->decode; }

std::vector<Key> pool_keys(PoolOf pool) {
  return {
      integer_key("replicas", "", {1, 65536}, "Copies of the model in this pool.",
                  [pool](Experiment& e, const Scalar& v) { pool(e).replicas = static_cast<int>(v.integer); })
          .with_default("1"),
      integer_key("tensor_parallel", "devices", {1, 1024}, "Instead of the deployment's.",
                  [pool](Experiment& e, const Scalar& v) { pool(e).tensor_parallel = static_cast<int>(v.integer); }),
      integer_key("pipeline_parallel", "stages", {1, 1024}, "Instead of the deployment's.",
                  [pool](Experiment& e, const Scalar& v) { pool(e).pipeline_parallel = static_cast<int>(v.integer); }),
      text_key(Key::Kind::kNameOrPath, "device", "Instead of the experiment's: devices/NAME.yaml, or a path.",
               [pool](Experiment& e, const Scalar& v) { pool(e).device = v.text; }),
      text_key(Key::Kind::kNameOrPath, "profile", "Instead of the experiment's: devices/profiles/NAME.json, or a path.",
               [pool](Experiment& e, const Scalar& v) { pool(e).profile = v.text; }),
      integer_key("kv_blocks", "blocks", {1, kMaxTokensPerLength},
                  "Instead of the deployment's; by default what fits in memory.",
                  [pool](Experiment& e, const Scalar& v) { pool(e).kv_blocks = Blocks{v.integer}; })
          .where(not_simdistserve, kNotSimdistserve)};
}

bool pulls(const Experiment& e) { return !replica_needs(e.deployment.policy).places && not_simdistserve(e); }
const char* const kPulls = "policy is not splitwise, and compat is not given";

std::vector<std::string> decode_routers() {
  std::vector<std::string> names = router_names();
  std::erase(names, router_name(RouterKind::kSharedQueue));  // what is prefilled is not held back
  return names;
}

Key prefill_key() { return map_key("prefill", "Where prompts are computed.", pool_keys(prefill)).as_section(); }

Key decode_key() {
  std::vector<Key> keys = pool_keys(decode);
  keys.push_back(
      choice_key("router", decode_routers(), "Which of them decodes a request that has been prefilled.",
                 [](Experiment& e, const Scalar& v) { e.deployment.pools->decode_router.kind = router_kind(v.text); })
          .with_default(router_name(RouterKind::kLeastRequests))
          .where(pulls, kPulls));
  keys.push_back(number_key("waiting_share", "", {0, 1, true},
                            "A replica pulls KV while the blocks of those that wait to join are less than this share.",
                            [](Experiment& e, const Scalar& v) { e.deployment.pools->pull.waiting_share = v.number; })
                     .with_default(decimal(PullConfig{}.waiting_share))
                     .where(pulls, kPulls));
  keys.push_back(
      number_key("idle_poll_s", "s", {0, 3600}, "An idle replica notices that much later what it can pull.",
                 [](Experiment& e, const Scalar& v) { e.deployment.pools->pull.idle_poll = from_seconds(v.number); })
          .with_default("0")
          .where(pulls, kPulls));
  return map_key("decode", "Where answers are computed after their first token.", std::move(keys)).as_section();
}

bool without_topology(const Experiment& e) { return !e.deployment.topology; }
const char* const kWithoutTopology = "there is no deployment.topology, over whose links KV goes";

Key transfer_key() {
  return map_key("transfer", "How KV gets from one to the other.",
                 {number_key("bytes_per_s", "bytes/s", {1e3, 1e15}, "Between any two replicas, whatever the others do.",
                             [](Experiment& e, const Scalar& v) { e.deployment.pools->bytes_per_s = v.number; })
                      .needed()
                      .where(without_topology, kWithoutTopology),
                  number_key("latency_s", "s", {0, 3600}, "Of each transfer.",
                             [](Experiment& e, const Scalar& v) { e.deployment.pools->latency_s = v.number; })
                      .with_default("0")
                      .where(without_topology, kWithoutTopology),
                  boolean_key("overlapped", "A replica decodes while KV comes; false: it waits for each transfer.",
                              [](Experiment& e, const Scalar& v) { e.deployment.pools->pull.overlapped = v.flag; })
                      .with_default("false")
                      .where(pulls, kPulls)})
      .where(not_simdistserve, kNotSimdistserve)
      .as_section();
}

Key swap_key() {
  return map_key("swap", "Where what decode memory has no room for goes.",
                 {number_key("host_bytes", "bytes", {0, 1e15}, "Of each decode replica; what does not fit is aborted.",
                             [](Experiment& e, const Scalar& v) { e.deployment.pools->host_bytes = v.number; })
                      .needed(),
                  number_key("bytes_per_s", "bytes/s", {1e3, 1e15}, "Between device and host; the step waits for it.",
                             [](Experiment& e, const Scalar& v) { e.deployment.pools->swap_bytes_per_s = v.number; })
                      .needed()})
      .where(
          [](const Experiment& e) {
            return std::holds_alternative<DistserveOptions>(e.deployment.policy) && not_simdistserve(e);
          },
          "policy is distserve and compat is not given")
      .as_section();
}

}  // namespace

Key pools_key() {
  Key key = map_key("pools", "Prefill and decode on replicas of their own.",
                    {prefill_key(), decode_key(), transfer_key(), swap_key()},
                    [](Experiment& e, const Scalar&) { e.deployment.pools.emplace(); });
  key.optional = true;
  return std::move(key).as_section();
}

}  // namespace servecast::experiments
