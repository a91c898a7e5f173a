#include "kernels/emulation/limits.hpp"

#include <cstdint>
#include <doctest/doctest.h>
#include <string>
#include <utility>

#include "tests/kernels/emulation/launches.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {
namespace {

__global__ void nothing() {}

std::string refusal(const Grid& grid) { return launch(nothing, grid).message(); }

std::string refusal(int architecture, std::int64_t shared_bytes) {
  const emulation::Options options{.architecture = architecture};
  return refusal(one_block(32, shared_bytes, &options));
}

}  // namespace

TEST_CASE("a block has the shared memory of its architecture and not a byte more") {
  const std::pair<int, std::int64_t> kib_of_architecture[] = {{75, 64},  {80, 163},  {86, 99},   {89, 99},
                                                              {90, 227}, {100, 227}, {103, 227}, {120, 99}};
  for (const auto& [architecture, kib] : kib_of_architecture) {
    const std::int64_t most = kib * 1024 - emulation::kStaticAllowance;
    CHECK(refusal(architecture, most).empty());
    std::string expected = std::to_string(most + 1);
    expected += " bytes of dynamic shared memory: beside static one a block of sm_";
    expected += std::to_string(architecture);
    expected += " has at most ";
    expected += std::to_string(most);
    CHECK(refusal(architecture, most + 1) == expected);
    CHECK_FALSE(refusal(architecture, kib * 1024).empty());  // no room for static shared memory
  }
  CHECK(refusal(70, 0) == "the emulator has no table for sm_70");
}

TEST_CASE("more than 48 KB of dynamic and static shared memory need the opt-in, which launch() asks for") {
  constexpr std::int64_t kBytes = emulation::kSharedWithoutOptIn - emulation::kStaticAllowance;
  const emulation::Body body{[](void*) {}, nullptr};
  CHECK_NOTHROW(emulation::run({}, {1, 1, kBytes, false}, body));
  CHECK_NOTHROW(emulation::run({}, {1, 1, kBytes + 1, true}, body));
  CHECK_THROWS_WITH_AS(emulation::run({}, {1, 1, kBytes + 1, false}, body),
                       "48129 bytes of dynamic shared memory: beside static one a block of sm_90 has at most 48128 "
                       "without the opt-in",
                       emulation::Error);
  for (const std::int64_t bytes : {kBytes, kBytes + 1, emulation::kSharedWithoutOptIn}) {
    CHECK(refusal(90, bytes).empty());
  }
}

TEST_CASE("blocks and grids have the extents that CUDA allows") {
  CHECK(refusal(one_block(1024)).empty());
  CHECK(refusal(one_block(dim3(1, 16, 64))).empty());
  CHECK(refusal(one_block(dim3(32, 33))) == "block (32, 33, 1): more than 1024 threads");
  CHECK(refusal(one_block(1025)) == "block (1025, 1, 1): each axis has at least 1, at most (1024, 1024, 64)");
  CHECK(contains(refusal(one_block(dim3(1, 1, 65))), "block (1, 1, 65): each axis"));
  CHECK(contains(refusal(one_block(0)), "block (0, 1, 1): each axis"));
  CHECK(refusal(Grid{.blocks = dim3(1, 65536), .threads = 1}) ==
        "grid (1, 65536, 1): each axis has at least 1, at most (2147483647, 65535, 65535)");
  CHECK(contains(refusal(Grid{.blocks = dim3(1, 0), .threads = 1}), "grid (1, 0, 1): each axis"));
}

TEST_CASE("a launch tells what it did") {
  const emulation::Body body{[](void*) {
                               __syncthreads();
                               __syncwarp();
                             },
                             nullptr};
  const emulation::Counts counts = emulation::run({}, {3, 64}, body);
  CHECK(counts.barriers == 3);
  CHECK(counts.warp_operations == 6);
  CHECK(counts.switches >= 3 * 2 * 63);
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
