// Splits one loop over a few threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace servecast::kernels::cpu {

// Threads take one index after another from a common counter, the caller among them, and sleep where there is none.
// Nobody waits for a thread that has not begun: if other programs hold the cores, the caller does the work alone.
// Which thread runs an index is left to chance; so no result may depend on it.
class ThreadPool {
 public:
  // Requires threads ≥ 1. The caller of for_each is one of them.
  explicit ThreadPool(std::int32_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] std::int32_t threads() const { return static_cast<std::int32_t>(workers_.size()) + 1; }

  // Calls body(index, thread) for index 0 … count − 1, thread in [0, threads()), and returns when all calls have. One
  // call at a time; body does not throw.
  template <class Body>
  void for_each(std::int64_t count, Body&& body) {
    if (workers_.empty() || count < 2) {
      for (std::int64_t index = 0; index < count; ++index) body(index, 0);
      return;
    }
    using Plain = std::remove_reference_t<Body>;
    run({count, const_cast<void*>(static_cast<const void*>(&body)),
         [](void* context, std::int64_t index, std::int32_t thread) {
           (*static_cast<Plain*>(context))(index, thread);
         }});
  }

 private:
  struct Job {
    std::int64_t count = 0;
    void* context = nullptr;
    void (*call)(void* context, std::int64_t index, std::int32_t thread) = nullptr;
  };

  void run(const Job& job);
  void work(std::int32_t thread);
  void take(const Job& job, std::int32_t thread);

  std::mutex mutex_;
  std::condition_variable posted_;
  std::condition_variable left_;
  Job job_;
  bool open_ = false;      // whether a worker may still join the job
  bool stopping_ = false;  // under mutex_, as all above
  std::int32_t inside_ = 0;
  std::uint64_t generation_ = 0;
  std::atomic<std::int64_t> next_{0};
  std::vector<std::thread> workers_;
};

}  // namespace servecast::kernels::cpu
