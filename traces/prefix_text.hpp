// Prefix block ids as text: "3-7 9" is blocks 3, 4, 5, 6, 7 and 9.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/numbers.hpp"
#include "traces/trace.hpp"

namespace servecast {

// Appends the id to the last run if it continues it.
void append_block(std::vector<BlockRun>& runs, std::uint64_t id);

// Replaces `runs` by what the text says.
void parse_prefix(std::string_view text, const Where& where, std::vector<BlockRun>& runs);

[[nodiscard]] std::string format_prefix(std::span<const BlockRun> runs);

// The N of a column called `prefix_block<N>_ids`; nothing for any other name.
[[nodiscard]] std::optional<Tokens> prefix_column_block_size(std::string_view name);

}  // namespace servecast
