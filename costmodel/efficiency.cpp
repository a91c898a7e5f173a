#include "costmodel/efficiency.hpp"

#include <array>

// All constants come from tools/efficiency_from_tables.py, two digits, which also prints the error they leave.
// Sources: GEMM, attention, experts and all-reduce from NVIDIA AIConfigurator's tables of kernels inside vLLM 0.14
// and 0.19 (Apache-2.0), rows of 2 x last-level cache or more, since an engine finds its operands cold; element-wise
// from microsoft/vidur (A100, H100; MIT) and casys-kaist/LLMServingSim (RTX 4090, RTX PRO 6000; MIT). Mean errors
// of single kernels: GEMM 4-8 %, prefill attention 6-12 % (RTX 4090, chunks with context: 21 %), decode
// attention 5-15 %, experts 14 %, all-reduce 3-19 % by ranks, element-wise 15-50 % (they matter least).

namespace servecast {
namespace {

struct Row {
  std::string_view name;
  Efficiency efficiency;
};

constexpr Curve kExperts{36e-6, 0.49, 0.84, 0};  // H200, Mixtral, Qwen3 and DeepSeek-V3 shapes, bf16

constexpr Efficiency kHopper{{2.7e-6, 0.81, 0.86, 0}, kExperts, {11e-6, 0.76, 0.61, 0}, {9.6e-6, 0.76, 0.88, 26e-9},
                             {3.5e-6, 1, 0.56, 0},    0.60};

constexpr Efficiency kH200{{2.6e-6, 0.77, 0.85, 0}, kExperts, {11e-6, 0.76, 0.61, 0}, {9.6e-6, 0.76, 0.78, 26e-9},
                           {3.5e-6, 1, 0.56, 0},    0.60};

constexpr Efficiency kAmpere{{2.8e-6, 0.85, 0.72, 0}, kExperts, {11e-6, 0.59, 0.40, 0}, {17e-6, 0.59, 0.73, 37e-9},
                             {2.3e-6, 1, 0.44, 0},    0.50};

constexpr Efficiency kAda{{2.1e-6, 0.76, 0.77, 0},    kExperts,          {7.5e-6, 0.50, 0.80, 0},
                          {10e-6, 0.50, 0.81, 26e-9}, {1.6e-6, 1, 1, 0}, 0.60};

// Inside vLLM 0.19 while it served Llama-3.1-8B: the card runs above its nominal clock, and without ECC.
constexpr Efficiency kRtx4090{{5.5e-6, 0.98, 0.94, 0}, kExperts,          {7.6e-6, 1, 0.34, 0},
                              {12e-6, 1, 0.88, 36e-9}, {1.6e-6, 1, 1, 0}, 0.60};

// RTX PRO 6000
constexpr Efficiency kBlackwell{{2.2e-6, 0.89, 0.78, 0},    kExperts,          {6.7e-6, 0.65, 0.87, 0},
                                {11e-6, 0.65, 0.82, 21e-9}, {1.9e-6, 1, 1, 0}, 0.60};

// Not measured publicly: B200 and GB200 take Hopper's shares (the nearest with HBM and NVLink), all others Ampere's,
// the lowest measured.
constexpr std::array<Row, 8> kRows{{{"h200", kH200},
                                    {"rtx-4090", kRtx4090},
                                    {"b200", kHopper},
                                    {"gb200", kHopper},
                                    {"hopper", kHopper},
                                    {"ampere", kAmpere},
                                    {"ada", kAda},
                                    {"blackwell", kBlackwell}}};

}  // namespace

Efficiency default_efficiency(std::string_view device, std::string_view architecture) {
  for (const std::string_view wanted : {device, architecture}) {
    for (const Row& row : kRows) {
      if (row.name == wanted) return row.efficiency;
    }
  }
  return kAmpere;
}

}  // namespace servecast
