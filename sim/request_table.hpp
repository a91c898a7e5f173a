// All requests of a run, in arrival order. Grows in chunks, so that a million of them never move.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "sim/request.hpp"

namespace servecast {

class RequestTable final : public OutputOracle {
 public:
  Request& add(const Arrival& arrival) {
    if (size_ % kChunk == 0) chunks_.push_back(std::make_unique<Chunk>());
    Request& request = (*chunks_.back())[size_ % kChunk];
    ++size_;
    request.arrived_at = arrival.at;
    request.prompt = static_cast<std::uint32_t>(arrival.prompt.count());
    request.output = static_cast<std::uint32_t>(std::min(arrival.output, arrival.max_tokens).count());
    request.max_tokens = static_cast<std::uint32_t>(arrival.max_tokens.count());
    return request;
  }

  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] Request& operator[](std::uint32_t index) { return (*chunks_[index / kChunk])[index % kChunk]; }
  [[nodiscard]] const Request& operator[](std::uint32_t index) const {
    return (*chunks_[index / kChunk])[index % kChunk];
  }
  [[nodiscard]] Tokens output_of(RequestId request) const override {
    return Tokens{(*this)[static_cast<std::uint32_t>(request)].output};
  }

 private:
  static constexpr std::uint32_t kChunk = 4096;
  using Chunk = std::array<Request, kChunk>;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::uint32_t size_ = 0;
};

}  // namespace servecast
