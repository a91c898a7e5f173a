#include "kernels/gpu_check/operands.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "kernels/cases/case.hpp"

namespace servecast::kernels::gpu_check {
namespace {

// One operand of indices, as wide as any of them; written out in the operand's own width.
using Indices = std::vector<std::int64_t>;

Indices widened(const std::vector<std::int32_t>& values) { return {values.begin(), values.end()}; }

Indices below(std::int64_t bound, std::int64_t count, Random& random) {
  Indices values(static_cast<std::size_t>(count));
  for (std::int64_t& value : values) value = random.below(bound);
  return values;
}

Indices contexts_of(std::span<const SequenceSpan> sequences) {
  Indices values;
  for (const SequenceSpan& span : sequences) values.push_back(span.context);
  return values;
}

Indices starts_of(std::span<const SequenceSpan> sequences) {
  Indices values{0};
  for (const SequenceSpan& span : sequences) values.push_back(values.back() + span.query);
  return values;
}

// Pages from all over the cache, each used once; requires as many as all sequences need.
Indices table_of(std::span<const SequenceSpan> sequences, std::int32_t page_size, std::int32_t pages,
                 std::int32_t width, Random& random) {
  const std::vector<std::int32_t> order = random.permutation(pages);
  Indices table(sequences.size() * static_cast<std::size_t>(width), 0);
  std::size_t next = 0;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const std::int64_t own = ceil_div(std::int64_t{sequences[s].context} + sequences[s].query, page_size);
    for (std::int64_t i = 0; i < own; ++i) {
      table[s * static_cast<std::size_t>(width) + static_cast<std::size_t>(i)] = order[next++];
    }
  }
  return table;
}

// A binary tree below the last token of the context.
Indices tree_of(std::int32_t tokens) {
  std::vector<std::uint64_t> ancestors(static_cast<std::size_t>(tokens), 1);
  for (std::size_t i = 1; i < ancestors.size(); ++i) ancestors[i] = ancestors[(i - 1) / 2] | (std::uint64_t{1} << i);
  Indices bits;
  for (const std::uint64_t mask : ancestors) bits.push_back(static_cast<std::int64_t>(mask));
  return bits;
}

Indices indices(const PrefillAttention& op, std::string_view name, Random& random) {
  if (name == "query_starts") return starts_of(op.sequences);
  if (name == "contexts") return contexts_of(op.sequences);
  return table_of(op.sequences, op.kv.page_size, op.kv.pages, op.table.width, random);
}

Indices indices(const DecodeAttention& op, std::string_view name, Random& random) {
  if (name == "contexts") return contexts_of(op.sequences);
  if (name == "ancestors") return tree_of(op.tokens);
  return table_of(op.sequences, op.kv.page_size, op.kv.pages, op.table.width, random);
}

Indices indices(const LatentDecodeAttention& op, std::string_view name, Random& random) {
  if (name == "contexts") return contexts_of(op.sequences);
  return table_of(op.sequences, op.page_size, op.pages, op.table.width, random);
}

Indices indices(const AppendKv& op, std::string_view name, Random& random) {
  if (name == "positions") return below(op.max_position, op.tokens, random);
  Indices slots = widened(random.permutation(std::int64_t{op.kv.pages} * op.kv.page_size));
  slots.resize(static_cast<std::size_t>(op.tokens));
  return slots;
}

Indices indices(const CopyBlocks& op, std::string_view, Random& random) {
  Indices pairs = widened(random.permutation(op.blocks));
  pairs.resize(2 * static_cast<std::size_t>(op.pairs));
  return pairs;
}

Indices indices(const GatherBlocks& op, std::string_view, Random& random) {
  Indices list = widened(random.permutation(op.blocks));
  list.resize(static_cast<std::size_t>(op.count));
  return list;
}

Indices indices(const Embedding& op, std::string_view, Random& random) {
  return below(op.vocabulary, op.tokens, random);
}

// Each row goes to a group drawn evenly.
Indices indices(const GroupedGemm& op, std::string_view name, Random& random) {
  if (name == "gather") return below(op.x_rows, op.rows, random);
  Indices offsets(static_cast<std::size_t>(op.groups) + 1, 0);
  for (std::int32_t row = 0; row < op.rows; ++row) ++offsets[static_cast<std::size_t>(random.below(op.groups)) + 1];
  for (std::size_t group = 1; group < offsets.size(); ++group) offsets[group] += offsets[group - 1];
  return offsets;
}

Indices indices(const CombineExperts& op, std::string_view, Random& random) {
  return widened(random.permutation(std::int64_t{op.tokens} * op.chosen));
}

Indices indices(const VerifyDraft& op, std::string_view, Random& random) {
  return below(op.vocabulary, std::int64_t{op.sequences} * op.drafted, random);
}

template <class Op>
Indices indices(const Op&, std::string_view, Random&) {
  return {};
}

Status upload(const Buffer& buffer, const Indices& values, void* to, Backend& backend) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(buffer.bytes()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (buffer.type == DType::kI64) {
      reinterpret_cast<std::int64_t*>(bytes.data())[i] = values[i];
    } else {
      reinterpret_cast<std::int32_t*>(bytes.data())[i] = static_cast<std::int32_t>(values[i]);
    }
  }
  return backend.memory().copy(to, bytes.data(), buffer.bytes(), Copy::kToDevice);
}

bool is_index(const Buffer& buffer) { return buffer.type == DType::kI32 || buffer.type == DType::kI64; }

// Scales, probabilities and weights of experts have no sign.
bool is_positive(const Buffer& buffer) {
  return buffer.type == DType::kF32 && buffer.name != "logits" && buffer.name != "x";
}

}  // namespace

std::int64_t operand_bytes(const Operation& shape) {
  std::int64_t sum = 0;
  Operation copy = shape;
  for_each_buffer(copy, [&](const Buffer& buffer, const auto*) { sum += ceil_div(buffer.bytes(), 256) * 256; });
  return sum;
}

Status place(const Operation& shape, Arena& arena, Backend& backend, Random& random, Operation& placed) {
  Status status;
  placed = shape;
  for_each_buffer(placed, [&](const Buffer& buffer, auto*& pointer) {
    if (buffer.elements == 0 || !status.ok()) return;
    void* to = arena.allocate(buffer.bytes());
    pointer = static_cast<std::remove_reference_t<decltype(pointer)>>(to);
    if (to == nullptr) {
      status = Status::unsupported("operands do not fit into the memory that measurements take");
    } else if (buffer.role == Role::kOutput || buffer.role == Role::kWorkspace) {
      return;
    } else if (is_index(buffer)) {
      const Indices values = std::visit([&](const auto& op) { return indices(op, buffer.name, random); }, shape);
      status = upload(buffer, values, to, backend);
    } else {
      status = arena.fill(to, buffer.type, buffer.bytes(), is_positive(buffer));
    }
  });
  return status;
}

}  // namespace servecast::kernels::gpu_check
