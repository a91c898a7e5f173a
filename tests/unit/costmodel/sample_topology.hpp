// A small topology whose numbers are easy to count with.
#pragma once

// Two hosts of four GPUs: NVLink 100 GB/s, PCIe 10 GB/s with a network card per pair of GPUs, network 5 GB/s.
inline const char* const kSampleTopology = R"(topology: small
name: Two small hosts
link_types:
  nvlink:
    medium: nvlink
    bandwidth: {value: 125e9, unit: B/s, source: "test"}
    latency: {value: 1e-6, unit: s, source: "test"}
    efficiency: {value: 0.8, source: "test"}
  pcie:
    medium: pcie
    bandwidth: {value: 10e9, unit: B/s, source: "test"}
    latency: {value: 2e-6, unit: s, source: "test"}
  wire:
    medium: network
    bandwidth: {value: 5e9, unit: B/s, source: "test"}
    latency: {value: 3e-6, unit: s, source: "test"}
hosts:
  host:
    count: 2
    nodes:
      gpu: {kind: gpu, count: 4, device: h100-test}
      nvswitch: {kind: switch}
      pcie: {kind: switch, count: 2}
      nic: {kind: nic, count: 2}
    links:
      - {from: gpu, to: nvswitch, type: nvlink}
      - {from: gpu, to: pcie, type: pcie}
      - {from: nic, to: pcie, type: pcie}
network:
  nodes:
    leaf: {kind: switch}
  links:
    - {from: nic, to: leaf, type: wire}
)";
