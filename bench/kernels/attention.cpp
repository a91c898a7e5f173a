// Decode attention of the CPU set beside memcpy: both read memory, and only one computes.
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <stdexcept>
#include <vector>

#include "bench/kernels/best_of.hpp"
#include "bench/suites.hpp"
#include "kernels/cases/case.hpp"
#include "kernels/cpu/backend.hpp"

namespace servecast::bench {
namespace {

constexpr int kRuns = 10;

// Bytes copied a second; read and write are counted once.
double copy_rate() {
  const std::vector<char> from(std::size_t{256} << 20, 1);
  std::vector<char> to(from.size(), 0);
  BestOf best;
  for (int run = 0; run < kRuns; ++run) {
    best.add(1, [&] { std::memcpy(to.data(), from.data(), from.size()); });
  }
  return static_cast<double>(from.size()) / best.seconds();
}

struct DecodeShape {
  std::int32_t heads = 8;
  std::int32_t kv_heads = 8;
  std::int32_t tokens = 1;
  std::int32_t sequences = 16;
  std::int32_t context = 2048;
};

// Shuffled pages of 16 tokens, heads of 128: some 270 MB of keys and values.
kernels::Case case_of(const DecodeShape& shape) {
  kernels::DecodeAttention op;
  op.type = op.kv.type = kernels::DType::kF32;
  op.heads = shape.heads;
  op.tokens = shape.tokens;
  op.scale = 0.088F;
  op.kv.kv_heads = shape.kv_heads;
  op.kv.head_dim = 128;
  op.kv.page_size = 16;
  kernels::CaseShape made{"decode", op, {}, 1};
  made.sequences.assign(static_cast<std::size_t>(shape.sequences), {shape.tokens, shape.context});
  return kernels::Case(std::move(made));
}

void report(kernels::Backend& backend, const DecodeShape& shape, double memcpy_rate) {
  const kernels::Case decode = case_of(shape);
  BestOf best;
  for (int run = 0; run < kRuns; ++run) {
    best.add(1, [&] {
      const auto status = backend.launch(decode.operation(), nullptr);
      if (!status.ok()) throw std::runtime_error(status.message());
    });
  }
  const double tokens = static_cast<double>(shape.sequences) * (shape.context + shape.tokens);
  const double bytes = tokens * 2 * shape.kv_heads * 128 * 4;
  const double rate = bytes / best.seconds();
  fmt::print(
      "attention=decode heads={}/{} tokens={} sequences={} context={} kv_mb={:.0f} ms={:.1f} kv_gb_s={:.1f} "
      "memcpy_gb_s={:.1f} to_memcpy={:.2f}\n",
      shape.heads, shape.kv_heads, shape.tokens, shape.sequences, shape.context, bytes / 1e6, best.seconds() * 1e3,
      rate / 1e9, memcpy_rate / 1e9, rate / memcpy_rate);
  std::fflush(stdout);
}

}  // namespace

void run_kernel_attention(const Self&) {
  const auto backend = kernels::make_cpu_backend();
  const double rate = copy_rate();
  for (const DecodeShape& shape : {DecodeShape{8, 8, 1}, DecodeShape{8, 8, 1, 1, 32768}, DecodeShape{8, 8, 1, 256, 128},
                                   DecodeShape{32, 8, 1}, DecodeShape{32, 8, 4}}) {
    report(*backend, shape, rate);
  }
}

}  // namespace servecast::bench
