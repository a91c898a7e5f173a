#include "kernels/cases/case.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/cases/inputs.hpp"

namespace servecast::kernels {
namespace {

template <class Op>
void attach(Op& op, const std::vector<SequenceSpan>& sequences) {
  if constexpr (requires { complete(op); }) {
    op.sequences = sequences;
    complete(op);
  }
}

bool is_floating(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBf16 || type == DType::kFp8;
}

// NaN where the format has one; else a number that no operator answers by accident.
void poison(Operand& operand) {
  const int byte = is_floating(operand.buffer.type) || operand.buffer.role == Role::kWorkspace ? 0xFF : 0x5A;
  if (!operand.bytes.empty()) std::memset(operand.bytes.data(), byte, operand.bytes.size());
}

Operand make_operand(const Buffer& buffer, Random& random) {
  Operand operand{buffer, std::vector<std::byte>(static_cast<std::size_t>(buffer.bytes()))};
  if (buffer.role == Role::kOutput || buffer.role == Role::kWorkspace) {
    poison(operand);
  } else if (buffer.type != DType::kI32 && buffer.type != DType::kI64) {
    fill_random(buffer.type, operand.bytes, buffer.elements, 0, 1, random);
  }
  return operand;
}

}  // namespace

Operand& Inputs::operand(std::string_view name) const {
  return *std::find_if(operands_->begin(), operands_->end(), [&](const Operand& o) { return o.buffer.name == name; });
}

void Inputs::normal(std::string_view name, double mean, double deviation) const {
  Operand& found = operand(name);
  fill_random(found.buffer.type, found.bytes, found.buffer.elements, mean, deviation, *random_);
}

void Inputs::uniform(std::string_view name, double least, double most) const {
  for (float& value : of<float>(name)) value = static_cast<float>(least + (most - least) * random_->uniform());
}

Case::Case(CaseShape shape) : shape_(std::move(shape)) {
  std::visit([&](auto& op) { attach(op, shape_.sequences); }, shape_.operation);
  Random random(shape_.seed);
  for_each_buffer(shape_.operation,
                  [&](const Buffer& buffer, const auto*) { operands_.push_back(make_operand(buffer, random)); });
  std::visit([&](const auto& op) { draw(op, Inputs(operands_, random)); }, shape_.operation);
  shape_.operation = relocated(shape_.operation, [&](std::size_t i) -> void* { return operands_[i].bytes.data(); });
}

std::int64_t Case::operand_bytes() const {
  std::int64_t sum = 0;
  for (const Operand& operand : operands_) sum += static_cast<std::int64_t>(operand.bytes.size());
  return sum;
}

}  // namespace servecast::kernels
