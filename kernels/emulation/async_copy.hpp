// The asynchronous copies of one thread that have not arrived.
#pragma once

#include <cstdint>

namespace servecast::kernels::emulation {

struct CopyRequest {
  void* to = nullptr;
  const void* from = nullptr;
  int source_bytes = 0;  // of 16; the rest is zeros
  void* code = nullptr;  // where it was asked for
};

inline constexpr int kAsyncCopyBytes = 16;

void carry_out(const CopyRequest& request);

// A queue without the standard containers: the kernels' translation units may instantiate those with race detection,
// and the linker keeps one of both.
class CopyQueue {
 public:
  CopyQueue() = default;
  CopyQueue(const CopyQueue&) = delete;
  CopyQueue& operator=(const CopyQueue&) = delete;
  ~CopyQueue();

  void clear() { begin_ = end_ = group_ = 0; }
  void push(const CopyRequest& request);
  void commit() { ++group_; }
  // Carries out all copies but those of the last `pending` committed groups and of the group that is still open.
  void wait(int pending);

 private:
  struct Entry {
    CopyRequest request;
    std::int64_t group;
  };
  void grow();

  Entry* entries_ = nullptr;
  std::int64_t capacity_ = 0;
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
  std::int64_t group_ = 0;  // the open one
};

}  // namespace servecast::kernels::emulation
