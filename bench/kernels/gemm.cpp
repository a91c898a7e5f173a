// The CPU set's packed product beside OpenBLAS, one thread each, weights rotating through 256 MB so that each call
// reads them from memory. Packing is not timed, as weights are packed once; OpenBLAS gets them as checkpoints have
// them, [n][k].
#include <cblas.h>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <stdexcept>
#include <vector>

#include "bench/kernels/best_of.hpp"
#include "bench/suites.hpp"
#include "kernels/cpu/backend.hpp"

namespace servecast::bench {
namespace {

constexpr std::int64_t kRotatedBytes = std::int64_t{256} << 20;
constexpr int kRuns = 10;
constexpr std::int32_t kMostRows = 256;

// Numbers in [−½, ½) by a linear congruence.
std::vector<float> numbers(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 8) / 16777216.0F - 0.5F;
  }
  return values;
}

struct GemmTimes {
  double ours_s = 0;
  double openblas_s = 0;
};

// Square products of one size.
class GemmBench {
 public:
  explicit GemmBench(std::int32_t size)
      : backend_(kernels::make_cpu_backend()),
        size_(size),
        matrices_(static_cast<int>(kRotatedBytes / (4 * floats()))),
        weights_(numbers(matrices_ * floats())),
        x_(numbers(std::int64_t{kMostRows} * size)),
        y_(x_.size()) {}

  GemmTimes time(std::int32_t rows) {
    check(rows);
    // A run is about 10 ms, and at least four calls.
    const double guess = 2.0 * rows * static_cast<double>(floats()) / 100e9;
    const int calls = std::clamp(static_cast<int>(0.01 / guess), 4, matrices_);
    BestOf ours;
    BestOf theirs;
    for (int run = 0; run < kRuns; ++run) {
      ours.add(calls, [&] { launch(rows, next(), y_.data()); });
      theirs.add(calls, [&] { openblas(rows, next(), y_.data()); });
    }
    return {ours.seconds(), theirs.seconds()};
  }

  [[nodiscard]] const std::string& device() const { return backend_->info().device; }

 private:
  [[nodiscard]] std::int64_t floats() const { return std::int64_t{size_} * size_; }
  const float* next() {
    at_ = (at_ + 1) % matrices_;
    return weights_.data() + at_ * floats();
  }

  void launch(std::int32_t rows, const float* weights, float* y) {
    kernels::Gemm gemm;
    gemm.type = gemm.weight_type = kernels::DType::kF32;
    gemm.layout = kernels::WeightLayout::kPanels;
    gemm.m = rows;
    gemm.n = gemm.k = size_;
    gemm.x = x_.data();
    gemm.weights = weights;
    gemm.y = y;
    if (const auto status = backend_->launch(gemm, nullptr); !status.ok()) throw std::runtime_error(status.message());
  }

  void openblas(std::int32_t rows, const float* weights, float* y) const {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, size_, size_, 1, x_.data(), size_, weights, size_, 0, y,
                size_);
  }

  // Both give the same product of one matrix, or there is nothing to compare.
  void check(std::int32_t rows) {
    std::vector<float> packed(static_cast<std::size_t>(floats()));
    kernels::pack_panels(weights_.data(), size_, size_, packed.data());
    std::vector<float> expected(y_.size());
    openblas(rows, weights_.data(), expected.data());
    launch(rows, packed.data(), y_.data());
    double error = 0;
    double norm = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows) * static_cast<std::size_t>(size_); ++i) {
      error += std::pow(double{y_[i]} - double{expected[i]}, 2);
      norm += std::pow(double{expected[i]}, 2);
    }
    if (!(error < 1e-10 * norm)) throw std::runtime_error("the products differ");
  }

  std::unique_ptr<kernels::Backend> backend_;
  std::int32_t size_;
  int matrices_;
  int at_ = 0;
  std::vector<float> weights_;
  std::vector<float> x_;
  std::vector<float> y_;
};

void run_rows(const std::vector<std::int32_t>& rows) {
  openblas_set_num_threads(1);
  for (const std::int32_t size : {1024, 2048}) {
    GemmBench bench(size);
    fmt::print("gemm k=n={} device=\"{}\" openblas={}\n", size, bench.device(), openblas_get_corename());
    double one_row = 0;
    double least = 1e300;
    for (const std::int32_t m : rows) {
      const GemmTimes times = bench.time(m);
      if (m == 1) one_row = times.ours_s;
      least = std::min(least, times.openblas_s / times.ours_s);
      const double flops = 2.0 * m * size * size;
      fmt::print("gemm k=n={} m={} us={:.0f} gflops={:.1f} to_m1={:.2f} openblas_us={:.0f} speed_to_openblas={:.2f}\n",
                 size, m, times.ours_s * 1e6, flops / times.ours_s / 1e9, times.ours_s / one_row,
                 times.openblas_s * 1e6, times.openblas_s / times.ours_s);
      std::fflush(stdout);
    }
    fmt::print("gemm k=n={} least speed_to_openblas={:.2f}\n", size, least);
  }
}

}  // namespace

void run_kernel_gemm(const Self&) { run_rows({1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256}); }

void run_every_gemm(const Self&) {
  std::vector<std::int32_t> rows;
  for (std::int32_t m = 1; m <= kMostRows; ++m) rows.push_back(m);
  run_rows(rows);
}

}  // namespace servecast::bench
