// Numbers of an H100 SXM, so that figures can be checked by hand.
#pragma once

inline const char* const kSampleDevice = R"(device: h100-test
name: Test device
architecture: hopper
compute_capability: "9.0"
memory_capacity: {value: 80e9, unit: B, source: "datasheet"}
memory_bandwidth: {value: 3.35e12, unit: B/s, source: "datasheet"}
peak:
  bf16: {value: 989.4e12, unit: FLOP/s, source: "datasheet"}
  fp8: {value: 1978.9e12, unit: FLOP/s, source: "datasheet"}
link:
  kind: nvlink
  bandwidth: {value: 450e9, unit: B/s, source: "datasheet"}
  latency: {value: 4e-6, unit: s, source: "measured"}
  devices_per_host: 8
power: {value: 700, unit: W, source: "datasheet"}
)";
