#include "kernels/cpu/thread_pool.hpp"

#include <array>
#include <chrono>
#include <doctest/doctest.h>

using servecast::kernels::cpu::ThreadPool;

TEST_CASE("each index runs exactly once, on a thread of the pool, and all have run when the loop returns") {
  for (const std::int32_t threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    CHECK(pool.threads() == threads);
    for (const std::int64_t count : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
      std::atomic<bool> strange = false;
      pool.for_each(count, [&](std::int64_t index, std::int32_t thread) {
        ++runs[static_cast<std::size_t>(index)];
        if (thread < 0 || thread >= threads) strange = true;
      });
      CHECK_FALSE(strange);
      for (const auto& ran : runs) CHECK(ran == 1);
    }
  }
}

TEST_CASE("no two calls at once have the same thread number, so that each may have scratch of its own") {
  ThreadPool pool(4);
  std::array<std::atomic<int>, 4> inside{};
  std::atomic<bool> shared = false;
  for (int job = 0; job < 200; ++job) {
    pool.for_each(16, [&](std::int64_t, std::int32_t thread) {
      if (++inside[static_cast<std::size_t>(thread)] != 1) shared = true;
      std::this_thread::yield();
      --inside[static_cast<std::size_t>(thread)];
    });
  }
  CHECK_FALSE(shared);
}

// A pool whose caller waits for every thread takes a scheduler's slice, some milliseconds, for each job once other
// programs hold the cores: minutes here.
TEST_CASE("short loops do not collapse when other threads hold every core") {
  std::atomic<bool> done = false;
  std::vector<std::thread> others;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i) {
    others.emplace_back([&] {
      while (!done) {
      }
    });
  }
  ThreadPool pool(8);
  std::atomic<std::int64_t> sum = 0;
  const auto from = std::chrono::steady_clock::now();
  for (int job = 0; job < 20'000; ++job) {
    pool.for_each(4, [&](std::int64_t index, std::int32_t) { sum += index; });
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - from;
  done = true;
  for (std::thread& other : others) other.join();
  CHECK(sum == 20'000 * 6);
  CHECK(taken.count() < 60);
}
