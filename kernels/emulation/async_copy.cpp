#include "kernels/emulation/async_copy.hpp"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "kernels/emulation/sanitizers.hpp"

namespace servecast::kernels::emulation {

void carry_out(const CopyRequest& request) {
  const auto source_bytes = static_cast<std::size_t>(request.source_bytes);
  sanitizers::writes(request.to, kAsyncCopyBytes, request.code);
  if (source_bytes != 0) {
    sanitizers::reads(request.from, source_bytes, request.code);
    std::memcpy(request.to, request.from, source_bytes);
  }
  std::memset(static_cast<std::byte*>(request.to) + source_bytes, 0, kAsyncCopyBytes - source_bytes);
}

CopyQueue::~CopyQueue() { std::free(entries_); }

void CopyQueue::push(const CopyRequest& request) {
  if (end_ == capacity_) grow();
  entries_[end_++] = Entry{request, group_};
}

void CopyQueue::grow() {
  const std::int64_t capacity = capacity_ == 0 ? 64 : 2 * capacity_;
  void* entries = std::realloc(entries_, static_cast<std::size_t>(capacity) * sizeof(Entry));
  if (entries == nullptr) throw std::bad_alloc();
  entries_ = static_cast<Entry*>(entries);
  capacity_ = capacity;
}

void CopyQueue::wait(int pending) {
  while (begin_ != end_ && entries_[begin_].group < group_ - pending) carry_out(entries_[begin_++].request);
  if (begin_ == end_) begin_ = end_ = 0;
}

}  // namespace servecast::kernels::emulation
