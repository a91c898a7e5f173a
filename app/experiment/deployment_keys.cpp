#include "app/experiment/keys.hpp"

namespace servecast::experiments {
namespace {

Key policy_key() {
  return choice_key("policy", scheduler_names(), "The scheduler of each replica.",
                    [](Experiment& e, const Scalar& v) { e.deployment.policy = default_options(v.text); })
      .needed();
}

// Formats as costmodel/dtype.hpp names them; KIVI-2 exists for caches only, MXFP4 for weights only.
std::vector<Key> dtype_keys() {
  return {choice_key("weight_dtype", {"fp32", "bf16", "fp16", "fp8", "int8", "int4", "mxfp4"},
                     "Number format of the weights; by default as the model is published.",
                     [](Experiment& e, const Scalar& v) { e.deployment.dtypes.weights = v.text; }),
          choice_key("kv_dtype", {"fp32", "bf16", "fp16", "fp8", "int8", "int4", "kivi2"},
                     "Number format of the KV cache; by default that of the activations.",
                     [](Experiment& e, const Scalar& v) { e.deployment.dtypes.kv = v.text; }),
          choice_key("activation_dtype", {"fp32", "bf16", "fp16"},
                     "Number format of activations; by default as the model is published.",
                     [](Experiment& e, const Scalar& v) { e.deployment.dtypes.activations = v.text; })};
}

std::vector<Key> memory_keys() {
  return {integer_key("max_model_len", "tokens", {1, kMaxTokensPerLength},
                      "Longest prompt and answer together; by default the model's own.",
                      [](Experiment& e, const Scalar& v) { e.deployment.max_model_len = Tokens{v.integer}; }),
          integer_key("block_size", "tokens", {1, 65536}, "Tokens in one block of the KV cache.",
                      [](Experiment& e, const Scalar& v) { e.deployment.block_size = Tokens{v.integer}; })
              .with_default(std::to_string(DeploymentSection{}.block_size.count())),
          number_key("gpu_memory_utilization", "", {0, 1, true}, "Share of the device's memory that the engine uses.",
                     [](Experiment& e, const Scalar& v) { e.deployment.memory_utilisation = v.number; })
              .with_default(decimal(DeploymentSection{}.memory_utilisation)),
          integer_key("memory_reserve_bytes", "bytes", {0, std::int64_t{1} << 50},
                      "What the engine keeps besides weights, activations and KV, per device.",
                      [](Experiment& e, const Scalar& v) { e.deployment.memory_reserve = Bytes{v.integer}; })
              .with_default("0"),
          integer_key("kv_blocks", "blocks", {1, kMaxTokensPerLength},
                      "Blocks of the KV cache, as a live engine's log says; by default what fits in memory.",
                      [](Experiment& e, const Scalar& v) { e.deployment.kv_blocks = Blocks{v.integer}; })
              .where(not_simdistserve, kNotSimdistserve)};
}

Key compat_key() {
  return choice_key("compat", {"simdistserve"},
                    "Schedule, and take step times from the profile, as that simulator does, for comparisons with it.",
                    [](Experiment& e, const Scalar&) {
                      std::get<DistserveOptions>(e.deployment.policy).as_simdistserve = true;
                    })
      .where([](const Experiment& e) { return std::holds_alternative<DistserveOptions>(e.deployment.policy); },
             "policy is distserve");
}

Key topology_key() {
  Key key = map_key("topology",
                    "What joins the devices: replicas stand on its GPUs, and all-reduces and KV cross its links; by "
                    "default the device's own link. A plain name or path stands for `{sheet: …}`.",
                    {text_key(Key::Kind::kNameOrPath, "sheet", "`topologies/NAME.yaml`, or the path of such a file.",
                              [](Experiment& e, const Scalar& v) { e.deployment.topology->sheet = v.text; })
                         .needed(),
                     integer_key("hosts", "hosts", {1, 4096}, "Instead of the sheet's, where it has one kind of them.",
                                 [](Experiment& e, const Scalar& v) { e.deployment.topology->hosts = v.integer; })},
                    [](Experiment& e, const Scalar&) { e.deployment.topology.emplace(); });
  key.shorthand = "sheet";
  key.optional = true;
  return std::move(key).where(not_simdistserve, kNotSimdistserve).as_section();
}

Key host_key() {
  return map_key(
             "host", "Time that the host adds to a step on the device.",
             {number_key("per_step_s", "s", {0, 3600}, "For each step.",
                         [](Experiment& e, const Scalar& v) { e.deployment.host.per_step = from_seconds(v.number); })
                  .with_default("0"),
              number_key(
                  "per_sequence_s", "s", {0, 3600}, "For each sequence in a step.",
                  [](Experiment& e, const Scalar& v) { e.deployment.host.per_sequence = from_seconds(v.number); })
                  .with_default("0"),
              choice_key("steps", {"all", "decode"},
                         "Which steps, and which sequences in them: all, or only those that decode.",
                         [](Experiment& e, const Scalar& v) { e.deployment.host.decode_only = v.text == "decode"; })
                  .with_default("all")})
      .where(not_simdistserve, kNotSimdistserve);
}

Key client_key() {
  return map_key(
      "client", "Time between client and server, in which no engine works; TTFT and E2E have it, TPOT does not.",
      {number_key("request_s", "s", {0, 3600}, "From the client until the engine can see the request.",
                  [](Experiment& e, const Scalar& v) { e.deployment.client.request = from_seconds(v.number); })
           .with_default("0"),
       number_key("response_s", "s", {0, 3600}, "From the end of a step until the client has its token.",
                  [](Experiment& e, const Scalar& v) { e.deployment.client.response = from_seconds(v.number); })
           .with_default("0")});
}

Key time_scale_key() {
  constexpr NumberRange kFactor{0.01, 100};
  return map_key("time_scale", "Factors on the profile's times, for a machine slower than the one that was measured.",
                 {number_key("prefill", "", kFactor, "Of what prefills take.",
                             [](Experiment& e, const Scalar& v) { e.deployment.time_scale.prefill = v.number; })
                      .with_default("1"),
                  number_key("decode", "", kFactor, "Of what decodes take.",
                             [](Experiment& e, const Scalar& v) { e.deployment.time_scale.decode = v.number; })
                      .with_default("1")})
      .where([](const Experiment& e) { return e.profile && not_simdistserve(e); },
             "a profile is given, and compat is not");
}

void append(std::vector<Key>& to, std::vector<Key> keys) {
  for (Key& key : keys) to.push_back(std::move(key));
}

}  // namespace

bool not_simdistserve(const Experiment& e) {
  const auto* distserve = std::get_if<DistserveOptions>(&e.deployment.policy);
  return distserve == nullptr || !distserve->as_simdistserve;
}

Key deployment_key() {
  std::vector<Key> keys{
      policy_key(),
      compat_key(),
      policy_options_key(),
      integer_key("tensor_parallel", "devices", {1, 1024}, "Devices that each layer is split over.",
                  [](Experiment& e, const Scalar& v) { e.deployment.tensor_parallel = static_cast<int>(v.integer); })
          .with_default("1"),
      integer_key("pipeline_parallel", "stages", {1, 1024},
                  "Stages that the layers are split over, one behind another; each on tensor_parallel devices.",
                  [](Experiment& e, const Scalar& v) { e.deployment.pipeline_parallel = static_cast<int>(v.integer); })
          .with_default("1"),
      topology_key(),
      pools_key(),
      integer_key("replicas", "", {1, 65536}, "Copies of the model, each on devices of its own.",
                  [](Experiment& e, const Scalar& v) { e.deployment.replicas = static_cast<int>(v.integer); })
          .with_default("1")
          .where([](const Experiment& e) { return !e.deployment.pools; }, "there are no pools"),
      boolean_key("async_scheduling", "Plan the next step while one runs.", [](Experiment& e, const Scalar& v) {
        e.deployment.async_scheduling = v.flag;
      }).with_default("false")};
  append(keys, router_keys());
  append(keys, membership_keys());
  append(keys, dtype_keys());
  append(keys, memory_keys());
  keys.push_back(host_key());
  keys.push_back(client_key());
  keys.push_back(time_scale_key());
  return map_key("deployment", "How it is served.", std::move(keys)).needed().as_section();
}

}  // namespace servecast::experiments
