// The instructions that are neither matrices nor order: shuffles, votes, copies.
#include "kernels/emulation/instructions.hpp"

#include <bit>

#include "kernels/emulation/engine.hpp"
#include "kernels/emulation/sanitizers.hpp"

namespace servecast::kernels::emulation {
namespace {

template <class Visit>
void for_each_lane(std::uint32_t mask, Visit&& visit) {
  for (std::uint32_t left = mask; left != 0; left &= left - 1) visit(static_cast<unsigned>(std::countr_zero(left)));
}

struct ShuffleArgument {
  std::uint64_t bits;
  std::uint64_t result;
  unsigned source;
  Place place;
};

void exchange(void* const* arguments, std::uint32_t mask) {
  for_each_lane(mask, [&](unsigned lane) {
    auto& reader = *static_cast<ShuffleArgument*>(arguments[lane]);
    if ((mask >> reader.source & 1U) == 0) {
      Message what("a shuffle: lane ");
      what.add(lane).add(" reads lane ").add(reader.source).add(", which is not in the mask or does not exist");
      engine.fail(what, reader.place);
    }
    reader.result = static_cast<const ShuffleArgument*>(arguments[reader.source])->bits;
  });
}

struct VoteArgument {
  bool predicate;
  Vote result;
};

void count_votes(void* const* arguments, std::uint32_t mask) {
  std::uint32_t yes = 0;
  for_each_lane(mask, [&](unsigned lane) {
    if (static_cast<const VoteArgument*>(arguments[lane])->predicate) yes |= 1U << lane;
  });
  for_each_lane(mask, [&](unsigned lane) { static_cast<VoteArgument*>(arguments[lane])->result = {yes, mask}; });
}

constexpr WarpOperation kShuffle{.name = "a shuffle", .work = exchange};
constexpr WarpOperation kVote{.name = "a vote", .work = count_votes, .allows_ended = true};
constexpr WarpOperation kSync{
    .name = "__syncwarp", .work = [](void* const*, std::uint32_t) {}, .allows_ended = true, .orders_memory = true};

bool aligned(const void* address) { return std::bit_cast<std::uintptr_t>(address) % kAsyncCopyBytes == 0; }

}  // namespace

void sync_threads(Place place) { engine.sync_threads(place); }

void sync_warp(std::uint32_t mask, Place place) { engine.meet(kSync, mask, nullptr, place); }

Vote vote(std::uint32_t mask, bool predicate, Place place) {
  VoteArgument argument{predicate, {}};
  engine.meet(kVote, mask, &argument, place);
  return argument.result;
}

std::uint64_t shuffle(std::uint32_t mask, std::uint64_t bits, unsigned source, Place place) {
  ShuffleArgument argument{bits, 0, source, place};
  engine.meet(kShuffle, mask, &argument, place);
  return argument.result;
}

void copy_async(void* to, const void* from, int source_bytes, Place place) {
  engine.require(80, "cp.async", place);
  if (source_bytes < 0 || source_bytes > kAsyncCopyBytes) engine.fail("cp.async: source_bytes is not in 0 … 16", place);
  if (!aligned(to)) engine.fail("cp.async: the shared address is not aligned to 16 bytes", place);
  if (!aligned(from)) engine.fail("cp.async: the global address is not aligned to 16 bytes", place);
  if (!engine.is_shared(to, kAsyncCopyBytes) || sanitizers::forbidden(to, kAsyncCopyBytes)) {
    engine.fail("cp.async writes outside of shared memory", place);
  }
  if (sanitizers::forbidden(from, static_cast<std::size_t>(source_bytes))) {
    engine.fail("cp.async reads outside of global memory", place);
  }
  const CopyRequest request{to, from, source_bytes, __builtin_return_address(0)};
  if (engine.options().async_copy == AsyncCopy::kEager) {
    carry_out(request);
    return;
  }
  sanitizers::writes(to, kAsyncCopyBytes, request.code);  // any time from now to the wait
  engine.self().copies.push(request);
}

void commit_copies(Place place) {
  engine.require(80, "cp.async.commit_group", place);
  engine.self().copies.commit();
}

void wait_copies(int pending, Place place) {
  engine.require(80, "cp.async.wait_group", place);
  engine.self().copies.wait(pending);
}

}  // namespace servecast::kernels::emulation
