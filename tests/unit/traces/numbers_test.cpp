#include "traces/numbers.hpp"

#include <doctest/doctest.h>

#include "tests/unit/traces/support.hpp"

using namespace servecast;

namespace {

const Where kHere{"t", 3, "n"};

std::string token_error(std::string_view text) {
  return message_of([&] { (void)parse_tokens(text, kHere); });
}

std::int64_t nanoseconds(std::string_view text, int digits) {
  return parse_instant(text, digits, kHere).time_since_epoch().count();
}

std::string instant_error(std::string_view text) {
  return message_of([&] { (void)parse_instant(text, 0, kHere); });
}

}  // namespace

TEST_CASE("token counts are whole numbers up to 2^31 - 1") {
  CHECK(parse_tokens(" 17 ", kHere) == Tokens{17});
  CHECK(parse_tokens("2147483647", kHere) == Tokens{2147483647});
  CHECK(token_error("") == "t:3: n: is empty; expected a whole number of tokens");
  CHECK(token_error("-5") == "t:3: n: -5 is negative; expected a whole number of tokens");
  CHECK(token_error("3.5") == "t:3: n: '3.5' is not a whole number; expected a whole number of tokens");
  CHECK(token_error("nan") == "t:3: n: 'nan' is not a number; expected a whole number of tokens");
  CHECK(token_error("many") == "t:3: n: 'many' is not a number; expected a whole number of tokens");
  CHECK(token_error("2147483648") == "t:3: n: 2147483648 tokens in one request; at most 2147483647 are accepted");
  CHECK(token_error("1000000000000000000") ==
        "t:3: n: 1000000000000000000 tokens in one request; at most 2147483647 are accepted");
  CHECK(token_error("99999999999999999999") ==
        "t:3: n: '99999999999999999999' tokens in one request; at most 2147483647 are accepted");
}

TEST_CASE("instants are exact to the nanosecond, and round beyond it") {
  CHECK(nanoseconds("0.046926808", 0) == 46'926'808);
  CHECK(nanoseconds("1700000000.123456789", 0) == 1'700'000'000'123'456'789);
  CHECK(nanoseconds("0.0000000005", 0) == 1);
  CHECK(nanoseconds("0.00000000049", 0) == 0);
  CHECK(nanoseconds("27482", 3) == 27'482'000'000);
  CHECK(nanoseconds("3772092432", 9) == 3'772'092'432);
  CHECK(nanoseconds("1.5e-3", 0) == 1'500'000);
  CHECK(nanoseconds(".5", 0) == 500'000'000);
}

TEST_CASE("an instant that cannot be is refused") {
  CHECK(instant_error("-1") == "t:3: n: is negative; an arrival cannot come before the start");
  CHECK(instant_error("nan") == "t:3: n: is not a finite number; expected an instant");
  CHECK(instant_error("soon") == "t:3: n: 'soon' is not a number; expected an instant");
  CHECK(instant_error("1e300") == "t:3: n: lies more than 291 years after the start; check its unit");
  CHECK(instant_error("9300000000") == "t:3: n: lies more than 291 years after the start; check its unit");
  CHECK(instant_error("99999999999999999999") == "t:3: n: lies more than 291 years after the start; check its unit");
  CHECK(instant_error("1e999") == "t:3: n: '1e999' is out of range; check its unit");
}
