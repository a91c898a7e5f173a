#include "kernels/cases/judgement.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace servecast::kernels {
namespace {

// Rows shorter than this may cancel to almost nothing: they are measured against the rms of all rows at least.
constexpr std::int64_t kShortRow = 16;
constexpr double kRowFactor = 4;
constexpr double kElementShare = 0.05;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string at(const Expected& expected, std::size_t index) {
  const auto width = static_cast<std::size_t>(expected.width);
  const std::size_t place = index / width;
  const std::int64_t row = expected.rows.empty() ? static_cast<std::int64_t>(place) : expected.rows[place];
  std::string text = " in row ";
  text.append(std::to_string(row)).append(", element ").append(std::to_string(index % width));
  return text;
}

std::string problem_of(std::string_view buffer, std::string_view what) {
  std::string text(buffer);
  return text.append(": ").append(what);
}

// Distance between neighbouring numbers of a floating format around `value`.
double step_of(DType type, double value, double row_largest) {
  const auto floating = [&](int mantissa, int least) {
    return std::ldexp(1.0, std::max(value == 0 ? least : std::ilogb(value), least) - mantissa);
  };
  switch (type) {
    case DType::kF16:
      return floating(10, -14);
    case DType::kBf16:
      return floating(7, -126);
    case DType::kFp8:
      return floating(3, -1000);  // scaled: where subnormals begin is not known here
    case DType::kInt8:
      return row_largest / 127;
    default:
      return floating(23, -126);
  }
}

struct Sums {
  double error = 0;
  double reference = 0;
  double largest = 0;
  std::int64_t count = 0;

  void add(double expected, double actual) {
    if (std::isnan(expected)) return;
    error += (actual - expected) * (actual - expected);
    reference += expected * expected;
    largest = std::max(largest, std::abs(expected));
    ++count;
  }
  [[nodiscard]] double rms() const { return count > 0 ? std::sqrt(reference / static_cast<double>(count)) : 0; }
};

Sums sums_of(std::span<const double> expected, std::span<const double> actual) {
  Sums sums;
  for (std::size_t i = 0; i < expected.size(); ++i) sums.add(expected[i], actual[i]);
  return sums;
}

double ratio(double error, double reference) { return error > 0 ? std::sqrt(error / reference) : 0; }

Verdict judge_exact(const Expected& expected, std::span<const double> actual) {
  Verdict verdict;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected.values[i]) || expected.values[i] == actual[i]) continue;
    verdict.problem = number(actual[i]);
    verdict.problem.append(" in place of ").append(number(expected.values[i])).append(at(expected, i));
    return verdict;
  }
  return verdict;
}

void judge_row(const Expected& expected, std::span<const double> actual, std::size_t row, double rms,
               const Tolerance& tolerance, Verdict& verdict) {
  const auto width = static_cast<std::size_t>(expected.width);
  const auto wanted = std::span(expected.values).subspan(row * width, width);
  const auto found = actual.subspan(row * width, width);
  const Sums sums = sums_of(wanted, found);
  const double least = expected.width < kShortRow ? rms * rms * static_cast<double>(sums.count) : 0;
  const double error = ratio(sums.error, std::max(sums.reference, least));
  verdict.worst_row = std::max(verdict.worst_row, error);
  if (verdict.ok() && !(error <= kRowFactor * tolerance.bound)) {
    verdict.problem = "relative error ";
    verdict.problem.append(number(error)).append(at(expected, row * width));
  }
  for (std::size_t i = 0; i < width; ++i) {
    if (std::isnan(wanted[i])) continue;
    const double off = std::abs(found[i] - wanted[i]);
    verdict.worst_element = std::max(verdict.worst_element, off > 0 ? off / rms : 0);
    if (!verdict.ok() || off <= kElementShare * rms + step_of(tolerance.stored, wanted[i], sums.largest)) continue;
    verdict.problem = number(found[i]);
    verdict.problem.append(" in place of ").append(number(wanted[i])).append(at(expected, row * width + i));
  }
}

std::span<const std::byte> inside(const Outcome& outcome, std::size_t index) {
  const auto guard = static_cast<std::size_t>(outcome.guard_bytes);
  const std::vector<std::byte>& bytes = outcome.operands[index];
  return std::span(bytes).subspan(guard, bytes.size() - 2 * guard);
}

bool guards_intact(const Outcome& outcome, std::size_t index, std::byte guard) {
  const auto size = static_cast<std::size_t>(outcome.guard_bytes);
  const std::span<const std::byte> bytes = outcome.operands[index];
  const auto is_guard = [&](std::byte byte) { return byte == guard; };
  const auto before = bytes.first(size);
  const auto after = bytes.last(size);
  return std::all_of(before.begin(), before.end(), is_guard) && std::all_of(after.begin(), after.end(), is_guard);
}

std::string surroundings_problem(const Case& subject, const Outcome& outcome) {
  for (std::size_t i = 0; i < subject.operands().size(); ++i) {
    const Operand& operand = subject.operands()[i];
    if (operand.bytes.empty()) continue;
    if (!guards_intact(outcome, i, guard_byte(operand.buffer.role))) {
      return problem_of(operand.buffer.name, "written outside its bounds");
    }
    const auto now = inside(outcome, i);
    if (operand.buffer.role == Role::kInput && !std::equal(now.begin(), now.end(), operand.bytes.begin())) {
      return problem_of(operand.buffer.name, "an input was written");
    }
  }
  return {};
}

std::size_t index_of(const Case& subject, std::string_view buffer) {
  std::size_t index = 0;
  while (subject.operands()[index].buffer.name != buffer) ++index;
  return index;
}

std::string untouched_problem(const Case& subject, const Expected& expected, const Outcome& outcome) {
  const std::size_t index = index_of(subject, expected.buffer);
  const Operand& before = subject.operands()[index];
  const auto now = inside(outcome, index);
  const auto size = static_cast<std::size_t>(bytes_of(before.buffer.type, 1));
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    if (!std::isnan(expected.values[i])) continue;
    if (std::memcmp(now.data() + i * size, before.bytes.data() + i * size, size) != 0) {
      std::string what = "written where it must stay as it was";
      return problem_of(expected.buffer, what.append(at(expected, i)));
    }
  }
  return {};
}

// The operation with its outputs where the launch left them, in `written`; inputs are not there.
Operation outputs_after(const Case& subject, const Outcome& outcome, std::vector<std::vector<std::byte>>& written) {
  for (std::size_t i = 0; i < outcome.operands.size(); ++i) {
    const Role role = subject.operands()[i].buffer.role;
    const auto bytes = inside(outcome, i);
    std::vector<std::byte>& copy = written.emplace_back();
    if (role == Role::kOutput || role == Role::kInOut) copy.assign(bytes.begin(), bytes.end());
  }
  return relocated(subject.operation(), [&](std::size_t i) -> void* { return written[i].data(); });
}

std::vector<double> rows_of(const Expected& expected, const std::vector<double>& all) {
  if (expected.rows.empty()) return all;
  std::vector<double> values;
  for (const std::int64_t row : expected.rows) {
    const auto first = all.begin() + row * expected.width;
    values.insert(values.end(), first, first + expected.width);
  }
  return values;
}

}  // namespace

std::byte guard_byte(Role role) { return role == Role::kInput ? std::byte{0xFF} : std::byte{0xA5}; }

Verdict judge_values(const Expected& expected, std::span<const double> actual, const Tolerance& tolerance) {
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (!std::isnan(actual[i]) || std::isnan(expected.values[i])) continue;
    Verdict verdict;
    verdict.problem = "NaN";
    verdict.problem += at(expected, i);
    return verdict;
  }
  if (expected.exact) return judge_exact(expected, actual);
  const Sums all = sums_of(expected.values, actual);
  Verdict verdict;
  verdict.error = ratio(all.error, all.reference);
  if (!(verdict.error <= tolerance.bound)) {
    verdict.problem = "relative error ";
    verdict.problem.append(number(verdict.error))
        .append(", and ")
        .append(number(tolerance.bound))
        .append(" is allowed");
  }
  const std::size_t rows = expected.values.size() / static_cast<std::size_t>(expected.width);
  for (std::size_t row = 0; row < rows; ++row) judge_row(expected, actual, row, all.rms(), tolerance, verdict);
  return verdict;
}

Verdict judge(const Case& subject, const std::vector<Expected>& expected, const Outcome& outcome) {
  Verdict worst;
  worst.problem = surroundings_problem(subject, outcome);
  if (!worst.ok()) return worst;
  std::vector<std::vector<std::byte>> written;
  const Operation after = outputs_after(subject, outcome, written);
  for (const Expected& output : expected) {
    Verdict verdict;
    verdict.problem = untouched_problem(subject, output, outcome);
    if (!verdict.ok()) return verdict;
    const DType stored = subject.operands()[index_of(subject, output.buffer)].buffer.type;
    const auto actual = rows_of(output, real_values(after, output.buffer));
    verdict = judge_values(output, actual, {bound_of(subject.operation()), stored});
    if (!verdict.ok()) {
      verdict.problem = problem_of(output.buffer, verdict.problem);
      return verdict;
    }
    if (verdict.error >= worst.error) worst = verdict;
  }
  return worst;
}

}  // namespace servecast::kernels
