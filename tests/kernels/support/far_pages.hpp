// A case twice: as it is, and with every page of its cache beyond 36 GB of an array that exists only where it is
// touched. An offset that is cut to 32 bits goes somewhere else.
#pragma once

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <utility>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/cases/case.hpp"

namespace servecast::kernels {

// Enough that 32 bits do not count it in units of 16 bytes; tiny pages stay below what 32 bits number.
inline constexpr std::int64_t kFar = std::int64_t{36} << 30U;
inline constexpr std::int64_t kMostPages = std::int64_t{1} << 30U;

// Address space without memory behind it until it is written.
class SparseArray {
 public:
  explicit SparseArray(std::size_t bytes) : bytes_(bytes) {
    address_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address_ == MAP_FAILED) throw std::runtime_error("there is no address space for a sparse array");
  }
  SparseArray(SparseArray&& other) noexcept : address_(std::exchange(other.address_, nullptr)), bytes_(other.bytes_) {}
  SparseArray& operator=(SparseArray&&) = delete;
  ~SparseArray() {
    if (address_ != nullptr) munmap(address_, bytes_);
  }
  [[nodiscard]] std::byte* at(std::int64_t offset) const { return static_cast<std::byte*>(address_) + offset; }

 private:
  void* address_;
  std::size_t bytes_;
};

// A case's operands in host memory of their own, as an emulated launch takes them.
class HostRun {
 public:
  explicit HostRun(const Case& subject) : operation_(subject.operation()) {
    for (const Operand& operand : subject.operands()) {
      buffers_.push_back(operand.buffer);
      operands_.push_back(operand.bytes);
    }
    operation_ = relocated(operation_, [&](std::size_t i) -> void* { return operands_[i].data(); });
  }

  // Moves the pages of the cache away. To be called once, before the launch.
  void spread() {
    std::visit([&](auto& op) { spread_cache(op); }, operation_);
  }

  // The operands after the launch, those that were moved in their old places.
  const std::vector<std::vector<std::byte>>& launch(Backend& backend, Status& status) {
    status = backend.launch(operation_, nullptr);
    if (status.ok()) status = backend.synchronize();
    for (const auto& [index, array] : moved_) {
      std::memcpy(operands_[index].data(), array.at(offset_of(index)), operands_[index].size());
    }
    return operands_;
  }

 private:
  [[nodiscard]] std::size_t index_of(std::string_view name) const {
    const auto named = [&](const Buffer& buffer) { return buffer.name == name; };
    const auto found = std::find_if(buffers_.begin(), buffers_.end(), named);
    if (found == buffers_.end()) throw std::logic_error("there is no operand " + std::string(name));
    return static_cast<std::size_t>(found - buffers_.begin());
  }

  // Every array of the cache begins with as many pages as put its keys `kFar` bytes away.
  [[nodiscard]] std::int64_t offset_of(std::size_t index) const {
    return static_cast<std::int64_t>(operands_[index].size()) / pages_ * first_;
  }

  void move(std::string_view name) {
    const std::size_t index = index_of(name);
    if (operands_[index].empty()) return;
    SparseArray array(static_cast<std::size_t>(offset_of(index)) + operands_[index].size());
    std::memcpy(array.at(offset_of(index)), operands_[index].data(), operands_[index].size());
    moved_.emplace_back(index, std::move(array));
    operation_ = relocated(operation_, [&](std::size_t i) -> void* {
      for (const auto& [other, moved] : moved_) {
        if (other == i) return moved.at(0);
      }
      return operands_[i].data();
    });
  }

  void choose_first(std::string_view name, std::int64_t pages) {
    pages_ = pages;
    const std::int64_t page_bytes = static_cast<std::int64_t>(operands_[index_of(name)].size()) / pages;
    first_ = std::min(kFar / page_bytes + 1, kMostPages);
  }

  template <class Index>
  void shift(std::string_view name, std::int64_t by) {
    std::vector<std::byte>& bytes = operands_[index_of(name)];
    for (std::size_t i = 0; i < bytes.size() / sizeof(Index); ++i) {
      Index& value = reinterpret_cast<Index*>(bytes.data())[i];
      if (value >= 0) value = static_cast<Index>(value + by);
    }
  }

  void move_paged(std::int32_t& pages) {
    choose_first("keys", pages);
    pages = static_cast<std::int32_t>(pages + first_);
    for (const std::string_view name : {"keys", "values", "key_scales", "value_scales"}) move(name);
  }

  // Takes a copy of the counts it changes, since move() replaces the operation's pointers.
  void spread_cache(PrefillAttention& op) {
    move_paged(op.kv.pages);
    shift<std::int32_t>("block_table", first_);
  }
  void spread_cache(DecodeAttention& op) {
    move_paged(op.kv.pages);
    shift<std::int32_t>("block_table", first_);
  }
  void spread_cache(AppendKv& op) {
    const std::int64_t page_size = op.kv.page_size;
    move_paged(op.kv.pages);
    shift<std::int64_t>("slots", first_ * page_size);
  }
  void spread_cache(LatentDecodeAttention& op) {
    choose_first("cache", op.pages);
    op.pages = static_cast<std::int32_t>(op.pages + first_);
    move("cache");
    shift<std::int32_t>("block_table", first_);
  }
  void spread_cache(CopyBlocks& op) {
    choose_first("cache", op.blocks);
    op.blocks = static_cast<std::int32_t>(op.blocks + first_);
    move("cache");
    shift<std::int32_t>("from_to", first_);
  }
  void spread_cache(GatherBlocks& op) {
    choose_first("cache", op.blocks);
    op.blocks = static_cast<std::int32_t>(op.blocks + first_);
    move("cache");
    shift<std::int32_t>("list", first_);
  }
  template <class Op>
  void spread_cache(Op&) {}

  Operation operation_;
  std::vector<Buffer> buffers_;
  std::vector<std::vector<std::byte>> operands_;
  std::vector<std::pair<std::size_t, SparseArray>> moved_;
  std::int64_t pages_ = 1;
  std::int64_t first_ = 0;
};

// Empty where the case answers the same near and far; else what went wrong, or which output differs.
inline std::string far_problem(const Case& subject, Backend& backend) {
  HostRun near(subject);
  HostRun far(subject);
  far.spread();
  Status near_status;
  Status far_status;
  const auto& expected = near.launch(backend, near_status);
  const auto& actual = far.launch(backend, far_status);
  if (!near_status.ok()) return near_status.message();
  if (!far_status.ok()) return far_status.message();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Buffer& buffer = subject.operands()[i].buffer;
    const bool written = buffer.role == Role::kOutput || buffer.role == Role::kInOut;
    if (written && expected[i] != actual[i]) return std::string(buffer.name) + " differs beyond 4 GB";
  }
  return {};
}

}  // namespace servecast::kernels
