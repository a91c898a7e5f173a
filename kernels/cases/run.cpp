#include "kernels/cases/run.hpp"

namespace servecast::kernels {

Status PlacedCase::place(const Placement& placement) {
  guard_bytes_ = placement.guard_bytes;
  for (std::int32_t copy = 0; copy < placement.copies; ++copy) {
    Status status = place_copy();
    if (!status.ok()) {
      release();
      return status;
    }
  }
  return {};
}

Status PlacedCase::place_copy() {
  Copied& copy = copies_.emplace_back();
  for (const Operand& operand : case_->operands()) {
    Status status = upload(operand, copy.blocks.emplace_back(nullptr));
    if (!status.ok()) return status;
  }
  copy.operation = relocated(case_->operation(), [&](std::size_t i) -> void* {
    return static_cast<std::byte*>(copy.blocks[i]) + guard_bytes_;
  });
  return {};
}

Status PlacedCase::upload(const Operand& operand, void*& block) {
  const auto bytes = static_cast<std::int64_t>(operand.bytes.size());
  if (bytes == 0) return {};
  block = backend_->memory().allocate(bytes + 2 * guard_bytes_);
  if (block == nullptr) return Status::device("there is not enough memory for " + std::string(operand.buffer.name));
  auto* to = static_cast<std::byte*>(block);
  const std::vector<std::byte> guard(static_cast<std::size_t>(guard_bytes_), guard_byte(operand.buffer.role));
  DeviceMemory& memory = backend_->memory();
  Status status = memory.copy(to + guard_bytes_, operand.bytes.data(), bytes, Copy::kToDevice);
  if (status.ok() && guard_bytes_ > 0) status = memory.copy(to, guard.data(), guard_bytes_, Copy::kToDevice);
  if (status.ok() && guard_bytes_ > 0) {
    status = memory.copy(to + guard_bytes_ + bytes, guard.data(), guard_bytes_, Copy::kToDevice);
  }
  return status;
}

Status PlacedCase::launch(std::int32_t call, Stream stream) {
  return backend_->launch(copies_[static_cast<std::size_t>(call % copies())].operation, stream);
}

Status PlacedCase::fetch(std::int32_t copy, Outcome& outcome) {
  outcome = {guard_bytes_, {}};
  const std::vector<void*>& blocks = copies_[static_cast<std::size_t>(copy)].blocks;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::size_t inner = case_->operands()[i].bytes.size();
    const std::size_t all = inner > 0 ? inner + 2 * static_cast<std::size_t>(guard_bytes_) : 0;
    std::vector<std::byte>& bytes = outcome.operands.emplace_back(all);
    if (all == 0) {
      bytes.resize(2 * static_cast<std::size_t>(guard_bytes_));
      continue;
    }
    Status status = backend_->memory().copy(bytes.data(), blocks[i], static_cast<std::int64_t>(all), Copy::kToHost);
    if (!status.ok()) return status;
  }
  return {};
}

void PlacedCase::release() {
  for (const Copied& copy : copies_) {
    for (void* block : copy.blocks) {
      if (block != nullptr) backend_->memory().release(block);
    }
  }
  copies_.clear();
}

Status run(const Case& subject, Backend& backend, const Placement& placement, Outcome& outcome) {
  PlacedCase placed(subject, backend);
  Status status = placed.place(placement);
  if (status.ok()) status = placed.launch(0, nullptr);
  if (status.ok()) status = backend.synchronize();
  if (status.ok()) status = placed.fetch(0, outcome);
  return status;
}

Verdict check(const Case& subject, Backend& backend, const Placement& placement, const RowSample& sample) {
  Outcome outcome;
  const Status status = run(subject, backend, placement, outcome);
  if (!status.ok()) {
    Verdict verdict;
    verdict.problem = status.message();
    return verdict;
  }
  return judge(subject, reference(subject.operation(), sample), outcome);
}

}  // namespace servecast::kernels
