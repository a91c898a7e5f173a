#include "kernels/cases/judgement.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <limits>

using namespace servecast::kernels;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Two rows of a thousand ones and minus ones.
Expected two_rows() {
  Expected expected{"out", 1000, {}, {}, false};
  for (int i = 0; i < 2000; ++i) expected.values.push_back(i % 2 == 0 ? 1.0 : -1.0);
  return expected;
}

bool says(const Verdict& verdict, const char* text) { return verdict.problem.find(text) != std::string::npos; }

}  // namespace

TEST_CASE("an answer within its format's rounding is right, and the verdict says how far off it is") {
  const Expected expected = two_rows();
  std::vector<double> actual = expected.values;
  for (double& value : actual) value *= 1.003;
  const Verdict verdict = judge_values(expected, actual, {4e-3, DType::kBf16});
  CHECK(verdict.ok());
  CHECK(verdict.error == doctest::Approx(0.003));
  CHECK(verdict.worst_row == doctest::Approx(0.003));
  CHECK(verdict.worst_element == doctest::Approx(0.003));
}

TEST_CASE("an error everywhere is caught by the norm over all, at its bound") {
  const Expected expected = two_rows();
  std::vector<double> actual = expected.values;
  for (double& value : actual) value *= 1.0041;
  const Verdict verdict = judge_values(expected, actual, {4e-3, DType::kBf16});
  CHECK(says(verdict, "relative error 0.0041, and 0.004 is allowed"));
}

TEST_CASE("an error in one of many rows is caught, though all together are near") {
  Expected expected{"out", 100, {}, std::vector<double>(100 * 1000, 1.0), false};
  std::vector<double> actual = expected.values;
  for (std::size_t i = 0; i < 100; ++i) actual[700 * 100 + i] = 1.02;
  const Verdict verdict = judge_values(expected, actual, {4e-3, DType::kF32});
  CHECK(verdict.error < 4e-3);
  CHECK(says(verdict, "relative error 0.02 in row 700"));
}

TEST_CASE("one wrong element is caught, though its row is near") {
  Expected expected{"out", 20000, {}, std::vector<double>(20000, 1.0), false};
  std::vector<double> actual = expected.values;
  actual[123] = 1.06;
  const Verdict verdict = judge_values(expected, actual, {4e-3, DType::kF32});
  CHECK(verdict.worst_row < 4 * 4e-3);
  CHECK(says(verdict, "1.06 in place of 1 in row 0, element 123"));
  actual[123] = 1.05;
  CHECK(judge_values(expected, actual, {4e-3, DType::kF32}).ok());
}

TEST_CASE("a large element may be off by a step of its format, and no more") {
  Expected expected{"out", 20000, {}, std::vector<double>(20000, 1.0), false};
  expected.values[5] = 40;  // bf16 lies 0.25 apart there
  std::vector<double> actual = expected.values;
  actual[5] = 40.25;
  CHECK(judge_values(expected, actual, {4e-3, DType::kBf16}).ok());
  actual[5] = 40.5;
  CHECK(says(judge_values(expected, actual, {4e-3, DType::kBf16}), "40.5 in place of 40"));
}

TEST_CASE("NaN is told before all else, wherever a number is expected") {
  const Expected expected = two_rows();
  std::vector<double> actual = expected.values;
  actual[0] = 17;
  actual[1500] = kNan;
  CHECK(judge_values(expected, actual, {1, DType::kF32}).problem == "NaN in row 1, element 500");
}

TEST_CASE("infinity is no number that a bound lets through") {
  const Expected expected = two_rows();
  std::vector<double> actual = expected.values;
  actual[3] = std::numeric_limits<double>::infinity();
  CHECK_FALSE(judge_values(expected, actual, {1, DType::kF32}).ok());
}

TEST_CASE("integers are equal or wrong") {
  const Expected expected{"tokens", 4, {}, {1, 2, 3, -1}, true};
  CHECK(judge_values(expected, std::vector<double>{1, 2, 3, -1}, {1, DType::kI32}).ok());
  const Verdict verdict = judge_values(expected, std::vector<double>{1, 2, 4, -1}, {1, DType::kI32});
  CHECK(verdict.problem == "4 in place of 3 in row 0, element 2");
}

TEST_CASE("elements that must stay untouched do not count as numbers") {
  const Expected expected{"keys", 4, {}, {1, 1, kNan, kNan}, false};
  CHECK(judge_values(expected, std::vector<double>{1, 1, 1e9, kNan}, {1e-6, DType::kF32}).ok());
}

TEST_CASE("a short row that cancels is measured against the others") {
  const Expected expected{"y", 1, {}, {1, -1, 1, 1e-6}, false};
  CHECK(judge_values(expected, std::vector<double>{1, -1, 1, 2e-6}, {4e-3, DType::kBf16}).ok());
  CHECK_FALSE(judge_values(expected, std::vector<double>{1, -1, 1, 0.03}, {4e-3, DType::kBf16}).ok());
}

TEST_CASE("an expectation of zeros is met by zeros alone") {
  const Expected expected{"y", 32, {}, std::vector<double>(64, 0.0), false};
  std::vector<double> actual(64, 0.0);
  CHECK(judge_values(expected, actual, {4e-3, DType::kF32}).ok());
  actual[40] = 1e-6;
  CHECK_FALSE(judge_values(expected, actual, {4e-3, DType::kF32}).ok());
}

TEST_CASE("sampled rows are named by their place in the output") {
  const Expected expected{"out", 2, {5, 90}, {1, 1, 1, 1}, false};
  const Verdict verdict = judge_values(expected, std::vector<double>{1, 1, 1, kNan}, {4e-3, DType::kF32});
  CHECK(verdict.problem == "NaN in row 90, element 1");
}

TEST_CASE("bounds follow the output's format, and in single precision the length of the sums") {
  Gemm gemm;
  gemm.k = 16384;
  CHECK(bound_of(gemm) == 4e-3);
  gemm.type = gemm.weight_type = DType::kF16;
  CHECK(bound_of(gemm) == 1e-3);
  gemm.type = gemm.weight_type = DType::kF32;
  CHECK(bound_of(gemm) == doctest::Approx(6e-6).scale(0));
  gemm.k = 100;
  CHECK(bound_of(gemm) == doctest::Approx(3e-6).scale(0));
  gemm.type = gemm.weight_type = DType::kFp8;  // y is bf16
  CHECK(bound_of(gemm) == 4e-3);
}
