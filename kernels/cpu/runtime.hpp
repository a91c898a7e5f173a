// What each operator of the CPU set runs with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "kernels/cpu/micro/micro.hpp"
#include "kernels/cpu/thread_pool.hpp"

namespace servecast::kernels::cpu {

// Scratch of one thread, made once: launches allocate nothing. Each operator divides it as it needs.
class Scratch {
 public:
  static constexpr std::int64_t kFloats = std::int64_t{320} * 1024;

  Scratch() : floats_(new (std::align_val_t{kAlignment}) float[kFloats]) {}

  [[nodiscard]] float* floats() { return floats_.get(); }

 private:
  static constexpr std::size_t kAlignment = 64;
  struct Free {
    void operator()(float* floats) const { ::operator delete[](floats, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<float[], Free> floats_;
};

class Runtime {
 public:
  Runtime(std::int32_t threads, bool splits_keys, Isa isa)
      : pool_(threads), micro_(micro_for(isa)), splits_keys_(splits_keys) {
    scratch_.resize(static_cast<std::size_t>(threads));
  }

  [[nodiscard]] ThreadPool& pool() { return pool_; }
  [[nodiscard]] const Micro& micro() const { return micro_; }
  // Whether decode attention may split a row's keys as the operation says; then its last bits depend on the splits.
  [[nodiscard]] bool splits_keys() const { return splits_keys_; }
  [[nodiscard]] float* scratch(std::int32_t thread) { return scratch_[static_cast<std::size_t>(thread)].floats(); }

 private:
  ThreadPool pool_;
  const Micro& micro_;
  bool splits_keys_;
  std::vector<Scratch> scratch_;
};

}  // namespace servecast::kernels::cpu
