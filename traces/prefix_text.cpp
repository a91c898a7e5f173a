#include "traces/prefix_text.hpp"

#include <charconv>

namespace servecast {
namespace {

constexpr std::uint64_t kLargestId = UINT64_MAX - 1;  // so that first + count never wraps

}  // namespace

void append_block(std::vector<BlockRun>& runs, std::uint64_t id) {
  if (!runs.empty() && runs.back().first + runs.back().count == id) {
    ++runs.back().count;
  } else {
    runs.push_back({id, 1});
  }
}

void parse_prefix(std::string_view text, const Where& where, std::vector<BlockRun>& runs) {
  runs.clear();
  while (!(text = trimmed(text)).empty()) {
    const std::string_view range = text.substr(0, text.find(' '));
    text.remove_prefix(range.size());
    const std::size_t dash = range.find('-');
    const std::uint64_t first = parse_id(range.substr(0, dash), kLargestId, where);
    const std::uint64_t last =
        dash == std::string_view::npos ? first : parse_id(range.substr(dash + 1), kLargestId, where);
    if (last < first) fail(where, "a range of prefix blocks runs backwards", "expected first-last");
    runs.push_back({first, last - first + 1});
  }
}

std::string format_prefix(std::span<const BlockRun> runs) {
  std::string text;
  for (const BlockRun& run : runs) {
    if (!text.empty()) text += ' ';
    text += std::to_string(run.first);
    if (run.count > 1) text += '-' + std::to_string(run.first + run.count - 1);
  }
  return text;
}

std::optional<Tokens> prefix_column_block_size(std::string_view name) {
  constexpr std::string_view kBefore = "prefix_block";
  constexpr std::string_view kAfter = "_ids";
  if (name.size() <= kBefore.size() + kAfter.size() || !name.starts_with(kBefore) || !name.ends_with(kAfter)) {
    return std::nullopt;
  }
  const std::string_view digits = name.substr(kBefore.size(), name.size() - kBefore.size() - kAfter.size());
  std::int64_t size = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
  if (error != std::errc{} || end != digits.data() + digits.size() || size <= 0 || size > kMaxTokensPerLength) {
    return std::nullopt;
  }
  return Tokens{size};
}

}  // namespace servecast
