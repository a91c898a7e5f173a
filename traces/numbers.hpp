// Numbers of a trace, read strictly: what cannot be a length or an instant is an error that says where.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/time.hpp"
#include "sim/units.hpp"

namespace servecast {

// No instant lies beyond this (291 years); SimTime holds 0.2 % more, so that a sum near the end cannot wrap.
inline constexpr double kLatestSeconds = 9.2e9;

// A place while reading; becomes an InputPlace only when something is wrong there.
struct Where {
  std::string_view file;
  long line = 0;
  std::string_view field;
};

[[noreturn]] void fail(const Where& where, std::string_view problem, std::string_view hint = {});

// The same for a field of a specification, whose file and line the caller may add.
[[noreturn]] void refuse(std::string_view field, std::string_view problem, std::string_view hint = {});

// A whole number of tokens from 0 to kMaxTokensPerLength.
[[nodiscard]] Tokens parse_tokens(std::string_view text, const Where& where);
[[nodiscard]] Tokens check_tokens(std::int64_t value, const Where& where);

// A whole number from 0 to `most`.
[[nodiscard]] std::uint64_t parse_id(std::string_view text, std::uint64_t most, const Where& where);

// An instant written as a decimal number of 10^-digits seconds (0: seconds, 3: milliseconds, 9: nanoseconds).
// Plain decimals are exact to the nanosecond, halves away from zero; with an exponent they pass through a double.
[[nodiscard]] SimTime parse_instant(std::string_view text, int digits, const Where& where);
// The same from a number already parsed.
[[nodiscard]] SimTime check_instant(double value, int digits, const Where& where);

// The shortest decimal that reads back as the same number.
[[nodiscard]] std::string format_number(double value);

[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace servecast
