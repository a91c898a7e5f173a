// The constants of NCCL's own tuning model, by which it chooses its algorithms: release 2.20.3 (commit b6475625),
// src/graph/tuning.cc. They were measured by its authors on their machines and are not fitted here. Other releases have
// other values. That file tells some constants by processor; here stands one case of each, named beside it, and those
// of different processors are mixed. Its limits per channel (perChMax*), its factor for trees on its tree pattern, and
// what it corrects by the message's size are left out.
#pragma once

#include <array>

namespace servecast::nccl {

struct ByProtocol {
  double low_latency;
  double low_latency_128;
  double simple;
};

// Seconds before the first step (baseLat).
inline constexpr ByProtocol kRingBase{6.6e-6, 14.0e-6, 8.4e-6};
inline constexpr ByProtocol kTreeBase{6.8e-6, 14.0e-6, 0};

// Seconds of a step over NVLink, PCIe and a network (hwLat).
inline constexpr std::array<ByProtocol, 3> kRingStep{
    {{0.6e-6, 1.9e-6, 3.4e-6}, {1.0e-6, 2.5e-6, 5.7e-6}, {2.7e-6, 4.0e-6, 14.0e-6}}};
inline constexpr std::array<ByProtocol, 3> kTreeStep{
    {{0.6e-6, 1.25e-6, 28e-6}, {1.0e-6, 1.9e-6, 28e-6}, {5.0e-6, 8.5e-6, 28e-6}}};

// The least time of any ring step once a ring crosses hosts, thrice that for the simple protocol (getNetOverhead): of
// Intel's processors and all others but AMD's, whose is 2 us.
inline constexpr double kNetworkOverhead = 1.0e-6;

// Low latency sends flags with the data and is bound by the processor's stores: shares of a ring's bandwidth, with and
// without a reduction on the way, and a limit in bytes per second on one host, two, and more (llMaxBws). On one host it
// is that of Ampere and Hopper GPUs (Volta's: 39.0e9); on two and more, of hosts with AMD's processors (all others:
// 39.0e9 and 20.4e9).
inline constexpr double kLowLatencyShareReducing = 1.0 / 4.0;
inline constexpr double kLowLatencyShareCopying = 1.0 / 3.0;
inline constexpr std::array<double, 3> kLowLatencyMost{87.7e9, 22.5e9, 19.0e9};
// 120 of 128 bytes are data; less where a rank sends and receives through one card.
inline constexpr double kLowLatency128Share = 0.92;
inline constexpr double kLowLatency128ShareAlone = 0.7;

inline constexpr double kTreeShare = 0.92;
inline constexpr double kTreeLowLatencyShare = 1 / 3.8;
inline constexpr double kTreeLowLatency128Share = 7.0 / 9.0;
inline constexpr double kTreeLowLatency128ShareNetwork = 120.0 / 128.0;

}  // namespace servecast::nccl
