#include "kernels/gpu_check/arena.hpp"

#include <algorithm>
#include <random>

namespace servecast::kernels::gpu_check {
namespace {

constexpr std::int64_t kAlignment = 256;
// No multiple of a page or a row: two places of one operand, or of two, hold the same numbers only far apart.
constexpr std::int64_t kBlockBytes = (std::int64_t{8} << 20U) + 5 * 16;
constexpr std::int64_t kPhaseStep = 7919 * 16;
constexpr std::int64_t kLeastArena = std::int64_t{1} << 20U;
constexpr std::uint64_t kSeed = 20260101;  // any; the same numbers in every run

// Bits for integer types; for the others numbers of magnitude 2⁻⁷ … 1.
void fill_host(DType type, bool positive, std::vector<std::uint8_t>& bytes) {
  std::mt19937_64 random(kSeed);
  const bool integer = type == DType::kInt8 || type == DType::kInt4;
  const std::int64_t elements = static_cast<std::int64_t>(bytes.size()) / bytes_of(type, 1);
  for (std::int64_t i = 0; i < elements; ++i) {
    if (integer) {
      bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(random());
    } else {
      const double fraction = static_cast<double>(random() >> 40U) * 0x1p-24;
      const double magnitude = std::max(fraction, 0x1p-7);
      store(type, bytes.data(), i, positive || (random() & 1U) != 0 ? magnitude : -magnitude);
    }
  }
}

}  // namespace

Arena::~Arena() {
  for (const Block& block : blocks_) {
    if (block.device != nullptr) device_.backend->memory().release(block.device);
  }
  if (base_ != nullptr) device_.backend->memory().release(base_);
}

Status Arena::reserve(std::int64_t bytes) {
  for (; bytes >= kLeastArena && base_ == nullptr; bytes /= 2) {
    base_ = static_cast<std::uint8_t*>(device_.backend->memory().allocate(bytes));
    bytes_ = base_ == nullptr ? 0 : bytes;
  }
  return base_ == nullptr ? Status::device("there is no memory to measure in") : Status();
}

void* Arena::allocate(std::int64_t bytes) {
  const std::int64_t rounded = ceil_div(bytes, kAlignment) * kAlignment;
  if (rounded > left()) return nullptr;
  void* pointer = base_ + used_;
  used_ += rounded;
  return pointer;
}

Status Arena::make_block(DType type, bool positive, Block*& block) {
  block = &blocks_.at(2 * static_cast<std::size_t>(type) + (positive ? 1 : 0));
  if (!block->host.empty()) return {};
  block->host.resize(static_cast<std::size_t>(kBlockBytes));
  fill_host(type, positive, block->host);
  if (!device_.is_linked()) return {};
  block->device = device_.backend->memory().allocate(kBlockBytes);
  if (block->device == nullptr) return Status::device("there is no memory for random numbers");
  return device_.backend->memory().copy(block->device, block->host.data(), kBlockBytes, Copy::kToDevice);
}

Status Arena::fill(void* pointer, DType type, std::int64_t bytes, bool positive) {
  Block* block = nullptr;
  Status status = make_block(type, positive, block);
  auto* to = static_cast<std::uint8_t*>(pointer);
  std::int64_t part = 0;
  for (std::int64_t done = 0; done < bytes && status.ok(); done += part) {
    part = std::min(kBlockBytes - phase_, bytes - done);
    status = device_.is_linked()
                 ? device_.copy(to + done, static_cast<std::uint8_t*>(block->device) + phase_, part, nullptr)
                 : device_.backend->memory().copy(to + done, block->host.data() + phase_, part, Copy::kToDevice);
    phase_ = (phase_ + part) % kBlockBytes;
  }
  phase_ = (phase_ + kPhaseStep) % kBlockBytes;
  return status;
}

}  // namespace servecast::kernels::gpu_check
