#include "kernels/reference/reference.hpp"

#include <algorithm>
#include <random>

#include "kernels/reference/operators.hpp"

namespace servecast::kernels {
namespace {

// Scales of quantised caches; all other outputs are what they are stored as.
double scale_of(const AppendKv& op, std::string_view buffer, std::int64_t index) {
  const bool keys = buffer == "keys";
  if (!keys && buffer != "values") return 1;
  if (op.kv.type == DType::kFp8) return keys ? op.kv.key_scale : op.kv.value_scale;
  if (op.kv.type != DType::kInt8) return 1;
  // Not as one expression: g++ 12 with -fsanitize=undefined then reads element 0 of the second array, whatever the
  // index.
  const float* scales = keys ? op.kv.key_scales : op.kv.value_scales;
  return scales[index / op.kv.head_dim];
}

template <class Op>
double scale_of(const Op&, std::string_view, std::int64_t) {
  return 1;
}

}  // namespace

std::vector<std::int64_t> chosen_rows(std::int64_t total, const RowSample& sample) {
  if (sample.at_most == 0 || total <= sample.at_most) return {};
  std::mt19937_64 random(sample.seed);
  std::vector<std::int64_t> rows = {0, total - 1};
  while (static_cast<std::int64_t>(rows.size()) < sample.at_most) {
    rows.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(total)));
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

std::vector<Expected> reference(const Operation& operation, const RowSample& sample) {
  return std::visit([&](const auto& op) { return reference_of(op, sample); }, operation);
}

std::vector<double> real_values(const Operation& operation, std::string_view buffer) {
  std::vector<double> values;
  Operation copy = operation;
  std::visit(
      [&](auto& op) {
        for_each_buffer(op, [&](const Buffer& found, const auto* data) {
          if (found.name != buffer) return;
          values.resize(static_cast<std::size_t>(found.elements));
          for (std::int64_t i = 0; i < found.elements; ++i) {
            values[static_cast<std::size_t>(i)] = load(found.type, data, i) * scale_of(op, buffer, i);
          }
        });
      },
      copy);
  return values;
}

}  // namespace servecast::kernels
