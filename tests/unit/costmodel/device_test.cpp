#include "costmodel/device.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <string>

#include "sim/error.hpp"
#include "tests/unit/costmodel/sample_device.hpp"

using namespace servecast;

namespace {

std::string changed(const std::string& from, const std::string& to) {
  std::string yaml = kSampleDevice;
  return yaml.replace(yaml.find(from), from.size(), to);
}

std::string message_of(const std::string& yaml) {
  try {
    (void)parse_device(yaml, "x.yaml");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a device sheet is read with its numbers") {
  const DeviceSheet device = parse_device(kSampleDevice, "x.yaml");
  CHECK(device.memory == Bytes{80'000'000'000});
  CHECK(device.bytes_per_second == 3.35e12);
  CHECK(device.peak_of(DType::kBf16) == 989.4e12);
  CHECK(device.ridge(DType::kBf16) == doctest::Approx(295.3).epsilon(1e-3));
  CHECK(device.link.kind == LinkKind::kNvlink);
  CHECK(device.link.devices_per_host == 8);
  CHECK(device.efficiency == default_efficiency("h100-test", "hopper"));
  CHECK_FALSE(device.memory_reported);
}

TEST_CASE("a rate that the device lacks is refused by name") {
  const DeviceSheet device = parse_device(kSampleDevice, "x.yaml");
  CHECK_FALSE(device.computes(DType::kFp16));
  CHECK_THROWS_WITH_AS((void)device.peak_of(DType::kFp16),
                       "dtype: h100-test does not compute in fp16; it has bf16, fp8", InputError);
}

TEST_CASE("a sheet may carry its own efficiency") {
  const std::string own = std::string(kSampleDevice) +
                          "efficiency:\n  source: measured here\n  gemm: {launch_s: 1e-6, compute: 0.5, memory: 0.6}\n";
  const DeviceSheet device = parse_device(own, "x.yaml");
  CHECK(device.efficiency.gemm == Curve{1e-6, 0.5, 0.6, 0});
  CHECK(device.efficiency.decode_attention == default_efficiency("h100-test", "hopper").decode_attention);
  CHECK(contains(
      message_of(std::string(kSampleDevice) + "efficiency:\n  source: x\n  gemm: {launch_s: 1e-6, compute: 1.5}\n"),
      "efficiency.gemm.compute: is 1.5, must be positive and in range"));
  CHECK(
      contains(message_of(std::string(kSampleDevice) + "efficiency:\n  link: 0.5\n"), "efficiency.source: is missing"));
}

TEST_CASE("every shipped sheet is read, named as its file, with shares within the peaks") {
  int sheets = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SERVECAST_SOURCE_DIR "/devices")) {
    if (entry.path().extension() != ".yaml") continue;
    const DeviceSheet device = load_device(entry.path().string());
    CAPTURE(device.name);
    const Efficiency& efficiency = device.efficiency;
    for (const Curve& curve : {efficiency.gemm, efficiency.experts, efficiency.prefill_attention,
                               efficiency.decode_attention, efficiency.elementwise}) {
      CHECK((curve.compute > 0 && curve.compute <= 1));
      CHECK((curve.memory > 0 && curve.memory <= 1));
      CHECK(curve.launch_s > 0);
    }
    CHECK((efficiency.link > 0 && efficiency.link <= 1));
    ++sheets;
  }
  CHECK(sheets >= 20);
}

TEST_CASE("bad sheets are refused with file, line and field") {
  CHECK(contains(message_of(changed("unit: B/s", "unit: GB/s")), "x.yaml:6: memory_bandwidth.unit: must be B/s"));
  CHECK(contains(message_of(changed("3.35e12", "-3.35e12")), "x.yaml:6: memory_bandwidth.value: is -3.35e12"));
  CHECK(contains(message_of(changed("3.35e12", ".nan")), "memory_bandwidth.value: must be a number"));
  CHECK(contains(message_of(changed("3.35e12", "fast")), "memory_bandwidth.value: must be a number"));
  CHECK(contains(message_of(changed("80e9", "1e30")), "memory_capacity.value: is 1e30"));
  CHECK(contains(message_of(changed("memory_bandwidth", "memory_bandwith")), "did you mean 'memory_bandwidth'?"));
  CHECK(contains(message_of(changed("fp8:", "fp7:")), "peak.fp7: unknown key"));
  CHECK(contains(message_of(changed("kind: nvlink", "kind: nvlnk")), "x.yaml:11: link.kind: unknown link 'nvlnk'"));
  CHECK(contains(message_of(changed(", source: \"datasheet\"}", "}")), "memory_capacity.source: is missing"));
  CHECK(contains(message_of(changed("devices_per_host: 8", "devices_per_host: 1.5")), "must be a whole number"));
  CHECK(contains(message_of("device: [a\n"), "x.yaml:2: is not valid YAML"));
  CHECK(contains(message_of("- a\n"), "must be a mapping"));
  CHECK(contains(message_of(std::string(kSampleDevice) + "name: again\n"), "name: is given twice"));
  CHECK_THROWS_AS((void)load_device("/nonexistent.yaml"), InputError);
}
