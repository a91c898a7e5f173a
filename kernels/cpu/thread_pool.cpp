#include "kernels/cpu/thread_pool.hpp"

namespace servecast::kernels::cpu {

ThreadPool::ThreadPool(std::int32_t threads) {
  for (std::int32_t thread = 1; thread < threads; ++thread) {
    workers_.emplace_back([this, thread] { work(thread); });
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  posted_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(const Job& job) {
  {
    const std::lock_guard lock(mutex_);
    job_ = job;
    next_.store(0, std::memory_order_relaxed);
    open_ = true;
    ++generation_;
  }
  posted_.notify_all();
  take(job, 0);
  std::unique_lock lock(mutex_);
  open_ = false;  // who has not come yet finds nothing, and is not waited for
  left_.wait(lock, [this] { return inside_ == 0; });
}

void ThreadPool::work(std::int32_t thread) {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    posted_.wait(lock, [&] { return stopping_ || (open_ && generation_ != seen); });
    if (stopping_) return;
    seen = generation_;
    ++inside_;
    const Job job = job_;
    lock.unlock();
    take(job, thread);
    lock.lock();
    if (--inside_ == 0) left_.notify_one();
  }
}

void ThreadPool::take(const Job& job, std::int32_t thread) {
  while (true) {
    const std::int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
    if (index >= job.count) return;
    job.call(job.context, index, thread);
  }
}

}  // namespace servecast::kernels::cpu
