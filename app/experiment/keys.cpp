#include "app/experiment/keys.hpp"

#include <limits>

namespace servecast::experiments {
namespace {

constexpr NumberRange kSomeSeconds{0, kMostSeconds, true};
constexpr NumberRange kSeconds{0, kMostSeconds};

Key version_key() { return integer_key("servecast", "", {1, 1}, "Version of this format.", {}).needed(); }

Key name_key() {
  return text_key(Key::Kind::kText, "name",
                  "What results are called; by default the folder of an `experiment.yaml`, or the file's name.",
                  [](Experiment& e, const Scalar& v) { e.name = v.text; });
}

Key model_key() {
  return text_key(Key::Kind::kNameOrPath, "model",
                  "The model: `models/NAME.json`, or the path of a Hugging Face `config.json`.",
                  [](Experiment& e, const Scalar& v) { e.model = v.text; })
      .needed();
}

Key device_key() {
  return text_key(Key::Kind::kNameOrPath, "device",
                  "The device: `devices/NAME.yaml`, or the path of such a file; by default the one of the profile.",
                  [](Experiment& e, const Scalar& v) { e.device = v.text; });
}

Key profile_key() {
  return text_key(Key::Kind::kNameOrPath, "profile",
                  "Measured step times instead of the roofline's: `devices/profiles/NAME.json`, or a path. "
                  "`{tensor_parallel}` in it stands for the split of the replicas that use it.",
                  [](Experiment& e, const Scalar& v) { e.profile = v.text; });
}

Key slo_key() {
  return map_key(
             "slo", "Service level objectives; a request is good when it meets all that are given.",
             {number_key("ttft_s", "s", kSomeSeconds, "Longest time to the first token.",
                         [](Experiment& e, const Scalar& v) { e.summary.slo.ttft_s = v.number; }),
              number_key("tpot_s", "s", kSomeSeconds, "Longest mean time per token after the first.",
                         [](Experiment& e, const Scalar& v) { e.summary.slo.tpot_s = v.number; }),
              number_key("e2e_s", "s", kSomeSeconds, "Longest time from arrival to the last token.",
                         [](Experiment& e, const Scalar& v) { e.summary.slo.e2e_s = v.number; }),
              number_key("attainment", "", {0, 1, true}, "Share of the offered requests that must be good.",
                         [](Experiment& e, const Scalar& v) { e.summary.slo.attainment = v.number; })
                  .with_default(decimal(Slo{}.attainment))
                  .where([](const Experiment& e) { return e.summary.slo.any(); }, "an objective is given beside it")})
      .as_section();
}

Key window_key() {
  return map_key("window", "The arrivals that statistics cover; what is cut is stated with the results.",
                 {number_key("warm_up_s", "s", kSeconds, "Requests that arrive earlier are left out.",
                             [](Experiment& e, const Scalar& v) { e.summary.warm_up = from_seconds(v.number); })
                      .with_default("0"),
                  number_key("cool_down_s", "s", kSeconds,
                             "Requests that arrive within this time before the last arrival are left out.",
                             [](Experiment& e, const Scalar& v) { e.summary.cool_down = from_seconds(v.number); })
                      .with_default("0")})
      .as_section();
}

Key horizon_key() {
  return number_key("horizon_s", "s", kSomeSeconds,
                    "Stop at this simulated time; by default when every request has ended.",
                    [](Experiment& e, const Scalar& v) { e.horizon_s = v.number; });
}

Key sweep_key() {
  Key key;
  key.kind = Key::Kind::kSweep;
  key.name = "sweep";
  key.about = "Axes of a grid: from the path of any key but `servecast` and `sweep` to a list of values.";
  return key;
}

Key seed_key() {
  return integer_key("seed", "", {0, std::numeric_limits<std::int64_t>::max()},
                     "All randomness derives from it: same seed, same bytes.",
                     [](Experiment& e, const Scalar& v) {
                       e.seed = static_cast<std::uint64_t>(v.integer);
                       e.workload.spec.seed = e.seed;
                     })
      .with_default("1");
}

}  // namespace

const Key& experiment_keys() {
  static const Key kRoot = map_key("", "A servecast experiment.",
                                   {version_key(), name_key(), model_key(), device_key(), profile_key(), workload_key(),
                                    deployment_key(), slo_key(), window_key(), horizon_key(), sweep_key(), seed_key()})
                               .as_section();
  return kRoot;
}

}  // namespace servecast::experiments
