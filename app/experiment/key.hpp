// What one key of an experiment file may hold. The tree of keys (keys.hpp) is the single description from which
// validation, defaults, the JSON Schema and the reference in docs/experiments.md are made.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/experiment/experiment.hpp"
#include "app/experiment/node.hpp"

namespace servecast::experiments {

// A value once it is known to be of its key's kind; only that kind's member is set.
struct Scalar {
  std::int64_t integer = 0;
  double number = 0;
  bool flag = false;
  std::string text = {};
};

struct IntegerRange {
  std::int64_t least = 0, most = 0;
};
struct NumberRange {
  double least = 0, most = 0;
  bool above_least = false;  // `least` itself is out
};

struct Key {
  enum class Kind : std::uint8_t {
    kMap,
    kOneOf,  // a map that holds exactly one of its alternatives, or the name of one that needs nothing more
    kInteger,
    kNumber,
    kBoolean,
    kText,
    kChoice,
    kPath,        // relative to the experiment's file; of an override, to the working directory
    kNameOrPath,  // a path when it has a '/' or ends in .json or .yaml, otherwise a name
    kSweep,       // paths of other keys, each with a list of values
  };

  Kind kind = Kind::kMap;
  std::string name;
  std::string unit;
  std::string about;     // one line: a sentence
  std::string fallback;  // the default as it would be written; empty: none
  // Where the default is another one sometimes.
  std::function<std::string(const Experiment&)> fallback_of;
  bool required = false;

  IntegerRange integers;
  NumberRange numbers;
  std::string word;                  // may stand in place of a number, assigned as text: "pinned", "goodput"
  std::vector<std::string> choices;  // also the alternatives' names are choices

  std::vector<Key> keys;     // of a map, or of a one-of
  bool alternative = false;  // within a one-of; its other keys may stand beside any alternative
  bool listable = false;     // a map in whose place a list of such may stand
  bool optional = false;     // a map that, where absent, is not there at all: its keys' defaults don't apply
  std::string shorthand;     // the key of this map that a scalar in its place stands for
  bool section = false;      // has a table of its own in the reference
  std::string like;          // the path whose table in the reference describes this key's keys too

  // Stores the value. Of a map or alternative: makes the place that its keys are stored in.
  std::function<void(Experiment&, const Scalar&)> assign;
  // Whether the key has a meaning beside those before it; `applies_where` says when. Absent: always.
  std::function<bool(const Experiment&)> applies;
  std::string applies_where;

  [[nodiscard]] const Key* find(std::string_view key) const;
  [[nodiscard]] bool needs_nothing() const;  // an alternative that its name alone can stand for
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::vector<std::string> alternatives() const;

  // For composing the tree.
  [[nodiscard]] Key with_default(std::string text) &&;
  [[nodiscard]] Key with_default(std::string text, std::function<std::string(const Experiment&)> of) &&;
  [[nodiscard]] Key needed() &&;
  [[nodiscard]] Key as_alternative() &&;
  [[nodiscard]] Key as_section() &&;
  [[nodiscard]] Key one_or_several() &&;
  [[nodiscard]] Key where(std::function<bool(const Experiment&)> holds, std::string condition) &&;
};

using Assign = std::function<void(Experiment&, const Scalar&)>;

[[nodiscard]] Key integer_key(std::string name, std::string unit, IntegerRange range, std::string about, Assign assign);
[[nodiscard]] Key number_key(std::string name, std::string unit, NumberRange range, std::string about, Assign assign);
[[nodiscard]] Key boolean_key(std::string name, std::string about, Assign assign);
[[nodiscard]] Key choice_key(std::string name, std::vector<std::string> choices, std::string about, Assign assign);
[[nodiscard]] Key text_key(Key::Kind kind, std::string name, std::string about, Assign assign);
[[nodiscard]] Key map_key(std::string name, std::string about, std::vector<Key> keys, Assign assign = {});
[[nodiscard]] Key one_of_key(std::string name, std::string about, std::vector<Key> keys, Assign assign = {});

// "a whole number from 1 to 65536", "one of: bf16, fp16", …
[[nodiscard]] std::string expected(const Key& key);
// The shortest decimal that reads back as the same number.
[[nodiscard]] std::string decimal(double value);

using Path = std::vector<std::string>;
[[nodiscard]] Path split_path(std::string_view path);
[[nodiscard]] std::string join_path(std::string_view parent, std::string_view name);
// "deployment.failure[0]": of a list's item.
[[nodiscard]] std::string item_path(std::string_view list, std::size_t index);

// Calls `visit` with every key below `root` and its path, parents first.
void for_each_key(const Key& root, const std::function<void(const Key&, const std::string&)>& visit);

}  // namespace servecast::experiments
