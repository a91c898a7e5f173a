#include "traces/numbers.hpp"

#include <charconv>
#include <cmath>
#include <string>

#include "sim/error.hpp"
#include "traces/trace.hpp"

namespace servecast {
namespace {

// Names the input in a message without letting a huge or binary field flood it.
std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string shown = "'";
  for (const char c : text.substr(0, kShown)) shown += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return shown + (text.size() > kShown ? "…'" : "'");
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool looks_like_a_decimal(std::string_view text) {
  double ignored = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ignored);
  return error == std::errc{} && end == text.data() + text.size() && std::isfinite(ignored);
}

[[noreturn]] void fail_tokens(std::string_view text, const Where& where) {
  constexpr std::string_view kExpected = "expected a whole number of tokens";
  if (text.empty()) fail(where, "is empty", kExpected);
  if (looks_like_a_decimal(text)) fail(where, quoted(text) + " is not a whole number", kExpected);
  fail(where, quoted(text) + " is not a number", kExpected);
}

// The value in nanoseconds of plain digits with an optional fraction; false for anything else or beyond 64 bits.
bool exact_nanoseconds(std::string_view text, int digits, std::int64_t& out) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view fraction = point == std::string_view::npos ? std::string_view{} : text.substr(point + 1);
  if (whole.empty() && fraction.empty()) return false;
  std::int64_t value = 0;
  const auto push = [&value](int digit) {
    return !__builtin_mul_overflow(value, 10, &value) && !__builtin_add_overflow(value, digit, &value);
  };
  for (const char c : whole) {
    if (!is_digit(c) || !push(c - '0')) return false;
  }
  const std::size_t shift = static_cast<std::size_t>(9 - digits);
  for (std::size_t i = 0; i < fraction.size(); ++i) {
    if (!is_digit(fraction[i])) return false;
  }
  for (std::size_t i = 0; i < shift; ++i) {
    if (!push(i < fraction.size() ? fraction[i] - '0' : 0)) return false;
  }
  const bool round_up = fraction.size() > shift && fraction[shift] >= '5';
  out = value;
  return !round_up || !__builtin_add_overflow(value, 1, &out);
}

}  // namespace

void fail(const Where& where, std::string_view problem, std::string_view hint) {
  throw InputError({std::string(where.file), where.line, std::string(where.field)}, problem, hint);
}

void refuse(std::string_view field, std::string_view problem, std::string_view hint) {
  throw InputError({{}, 0, std::string(field)}, problem, hint);
}

std::string format_number(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return error == std::errc{} ? std::string(text, end) : std::to_string(value);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

Tokens check_tokens(std::int64_t value, const Where& where) {
  if (value < 0) fail(where, std::to_string(value) + " is negative", "expected a whole number of tokens");
  if (value > kMaxTokensPerLength) {
    fail(where, std::to_string(value) + " tokens in one request",
         "at most " + std::to_string(kMaxTokensPerLength) + " are accepted");
  }
  return Tokens{value};
}

Tokens parse_tokens(std::string_view text, const Where& where) {
  text = trimmed(text);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) fail_tokens(text, where);
  if (error == std::errc::result_out_of_range) {
    if (text.front() == '-') fail(where, quoted(text) + " is negative", "expected a whole number of tokens");
    fail(where, quoted(text) + " tokens in one request",
         "at most " + std::to_string(kMaxTokensPerLength) + " are accepted");
  }
  if (error != std::errc{}) fail_tokens(text, where);
  return check_tokens(value, where);
}

std::uint64_t parse_id(std::string_view text, std::uint64_t most, const Where& where) {
  text = trimmed(text);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > most) {
    fail(where, quoted(text) + " is not an id", "expected a whole number from 0 to " + std::to_string(most));
  }
  return value;
}

SimTime check_instant(double value, int digits, const Where& where) {
  if (!std::isfinite(value)) fail(where, "is not a finite number", "expected an instant");
  if (value < 0) fail(where, "is negative", "an arrival cannot come before the start");
  const double in_seconds = value * std::pow(10.0, -digits);
  if (in_seconds > kLatestSeconds) fail(where, "lies more than 291 years after the start", "check its unit");
  return SimTime{Duration{static_cast<std::int64_t>(std::llround(value * std::pow(10.0, 9 - digits)))}};
}

SimTime parse_instant(std::string_view text, int digits, const Where& where) {
  text = trimmed(text);
  if (text.empty()) fail(where, "is empty", "expected an instant");
  std::int64_t exact = 0;
  if (exact_nanoseconds(text, digits, exact)) {
    if (static_cast<double>(exact) * 1e-9 > kLatestSeconds) {
      fail(where, "lies more than 291 years after the start", "check its unit");
    }
    return SimTime{Duration{exact}};
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) {
    fail(where, quoted(text) + " is not a number", "expected an instant");
  }
  if (error == std::errc::result_out_of_range) fail(where, quoted(text) + " is out of range", "check its unit");
  return check_instant(value, digits, where);
}

}  // namespace servecast
