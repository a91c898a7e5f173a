#include "sim/time.hpp"

#include <doctest/doctest.h>
#include <type_traits>

#include "sim/error.hpp"
#include "sim/random.hpp"
#include "sim/units.hpp"

using namespace servecast;

template <class A, class B>
concept addable = requires(A a, B b) {
  a + b;
};

TEST_CASE("seconds round once to whole nanoseconds") {
  CHECK(from_seconds(1.5e-9) == Duration{2});
  CHECK(from_seconds(0.25) == Duration{250'000'000});
  CHECK(seconds(Duration{250'000'000}) == doctest::Approx(0.25));
}

TEST_CASE("what comes after the end of time never comes") {
  CHECK(after(SimTime{Duration{5}}, Duration{2}) == SimTime{Duration{7}});
  CHECK(after(kStart + from_seconds(5e9), from_seconds(4e9)) == kStart + from_seconds(9e9));
  CHECK(after(kStart + from_seconds(5e9), from_seconds(5e9)) == kNever);
  CHECK(after(kNever, Duration{1}) == kNever);
}

TEST_CASE("tokens, blocks and bytes do not mix") {
  static_assert(addable<Tokens, Tokens>);
  static_assert(!addable<Tokens, Blocks>);
  static_assert(!addable<Blocks, Bytes>);
  static_assert(!std::is_convertible_v<int, Tokens>);
  CHECK(blocks_for(Tokens{0}, Tokens{16}) == Blocks{0});
  CHECK(blocks_for(Tokens{16}, Tokens{16}) == Blocks{1});
  CHECK(blocks_for(Tokens{17}, Tokens{16}) == Blocks{2});
}

TEST_CASE("a stream depends on its name and its seed, and on nothing else") {
  CHECK(stream(1, "arrivals")() == stream(1, "arrivals")());
  CHECK(stream(1, "arrivals")() != stream(1, "lengths")());
  CHECK(stream(1, "arrivals")() != stream(2, "arrivals")());
}

TEST_CASE("an input error names file, line and field, and suggests") {
  const InputError error({"x.yaml", 3, "deployment.polcy"}, "unknown key", suggest("polcy", {"policy", "options"}));
  CHECK(std::string(error.what()) == "x.yaml:3: deployment.polcy: unknown key; did you mean 'policy'?");
  CHECK(suggest("zzzzzz", {"a", "b"}) == "expected one of: a, b");
}
