#include "kernels/operators/check.hpp"

#include <limits>

namespace servecast::kernels {

Check& Check::that(bool holds, std::string_view problem) {
  if (problem_.empty() && !holds) problem_ = problem;
  return *this;
}

Check& Check::within(std::string_view name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (!problem_.empty() || (least <= value && value <= most)) return *this;
  problem_.append(name).append(" is ").append(std::to_string(value));
  problem_.append(", and must be ").append(std::to_string(least)).append(" to ").append(std::to_string(most));
  return *this;
}

Check& Check::at_least(std::string_view name, std::int64_t value, std::int64_t least) {
  if (!problem_.empty() || value >= least) return *this;
  problem_.append(name).append(" is ").append(std::to_string(value));
  problem_.append(", and must be at least ").append(std::to_string(least));
  return *this;
}

Check& Check::real(std::string_view name, DType type) {
  if (!problem_.empty() || type == DType::kF32 || type == DType::kF16 || type == DType::kBf16) return *this;
  problem_.append(name).append(" is ").append(name_of(type)).append(", and must be f32, f16 or bf16");
  return *this;
}

Check& Check::fits(std::string_view name, std::initializer_list<std::int64_t> factors) {
  if (!problem_.empty()) return *this;
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (factor != 0 && product > kMostElements / factor) {
      problem_.append(name).append(" would have more than 2^40 elements");
      return *this;
    }
    product *= factor;
  }
  return *this;
}

Check& Check::sequences(std::span<const SequenceSpan> sequences, std::int32_t page_size, std::int32_t width) {
  that(!sequences.empty(), "there are no sequences");
  for (std::size_t index = 0; problem_.empty() && index < sequences.size(); ++index) {
    sequence(index, sequences[index], std::int64_t{1} * page_size * width);
  }
  return *this;
}

void Check::sequence(std::size_t index, const SequenceSpan& span, std::int64_t room) {
  std::string name = "sequence ";
  name += std::to_string(index);
  if (span.query < 1) {
    problem_.append(name).append(" computes no token");
  } else if (span.context < 0) {
    problem_.append(name).append(" has a negative context");
  } else if (std::int64_t{span.context} + span.query > std::numeric_limits<std::int32_t>::max()) {
    problem_.append(name).append(" has more than 2^31 - 1 tokens");
  } else if (std::int64_t{span.context} + span.query > room) {
    problem_.append(name).append(" has ").append(std::to_string(std::int64_t{span.context} + span.query));
    problem_.append(" tokens, and its row of the block table holds ").append(std::to_string(room));
  }
}

void Check::missing(std::string_view name) {
  if (problem_.empty()) problem_.append(name).append(" is missing");
}

Status Check::status() const {
  if (problem_.empty()) return {};
  std::string message(operation_);
  message.append(": ").append(problem_);
  return Status::invalid(std::move(message));
}

}  // namespace servecast::kernels
