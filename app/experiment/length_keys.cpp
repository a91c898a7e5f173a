#include "app/experiment/keys.hpp"

namespace servecast::experiments {
namespace {

constexpr IntegerRange kTokens{1, kMaxTokensPerLength};
constexpr NumberRange kMeanTokens{0, static_cast<double>(kMaxTokensPerLength), true};

using LengthOf = LengthSpec& (*)(Experiment&);

// A key of the shape that `of` now has.
template <class Shape, class Member>
Key shape_integer(LengthOf of, const char* name, Member member, std::string about) {
  return integer_key(name, "tokens", kTokens, std::move(about), [of, member](Experiment& e, const Scalar& v) {
    std::get<Shape>(of(e).shape).*member = v.integer;
  });
}

template <class Shape>
Assign begin(LengthOf of) {
  return [of](Experiment& e, const Scalar&) { of(e).shape = Shape{}; };
}

Key fixed_key(LengthOf of) {
  return integer_key("fixed", "tokens", kTokens, "Always this many.",
                     [of](Experiment& e, const Scalar& v) { of(e).shape = FixedLength{v.integer}; });
}

Key uniform_key(LengthOf of) {
  return map_key("uniform", "Each whole number of a range equally likely.",
                 {shape_integer<UniformLength>(of, "min", &UniformLength::min, "The least.").needed(),
                  shape_integer<UniformLength>(of, "max", &UniformLength::max, "The most.").needed()},
                 begin<UniformLength>(of));
}

Key zipf_key(LengthOf of) {
  return map_key(
      "zipf", "P(k) ∝ k^−exponent over the whole numbers of a range.",
      {shape_integer<ZipfLength>(of, "min", &ZipfLength::min, "The least.").with_default("1"),
       shape_integer<ZipfLength>(of, "max", &ZipfLength::max, "The most.").needed(),
       number_key("exponent", "", {0, 20, true}, "Larger: more short ones.",
                  [of](Experiment& e, const Scalar& v) { std::get<ZipfLength>(of(e).shape).exponent = v.number; })
           .needed()},
      begin<ZipfLength>(of));
}

Key lognormal_number(LengthOf of, const char* name, const char* unit, NumberRange range, std::string about,
                     std::optional<double> LogNormalLength::*member) {
  return number_key(name, unit, range, std::move(about), [of, member](Experiment& e, const Scalar& v) {
    std::get<LogNormalLength>(of(e).shape).*member = v.number;
  });
}

Key lognormal_key(LengthOf of) {
  return map_key("lognormal", "Rounded to whole tokens, at least 1; by mean and sigma, or by median and p90.",
                 {lognormal_number(of, "mean", "tokens", kMeanTokens, "Of the lengths.", &LogNormalLength::mean),
                  lognormal_number(of, "sigma", "", {0, 10}, "Standard deviation of the lengths' logarithm.",
                                   &LogNormalLength::sigma),
                  lognormal_number(of, "median", "tokens", kMeanTokens, "Of the lengths.", &LogNormalLength::median),
                  lognormal_number(of, "p90", "tokens", kMeanTokens, "The 90th percentile of the lengths.",
                                   &LogNormalLength::p90)},
                 begin<LogNormalLength>(of));
}

// Nothing of a length can be left out, so that no alternative's name alone stands for it.
Key length_key(const char* name, std::string about, LengthOf of) {
  return one_of_key(name, std::move(about),
                    {fixed_key(of).as_alternative(), uniform_key(of).as_alternative(), zipf_key(of).as_alternative(),
                     lognormal_key(of).as_alternative(),
                     integer_key("at_least", "tokens", kTokens, "Shorter ones are raised to this.",
                                 [of](Experiment& e, const Scalar& v) { of(e).at_least = v.integer; })
                         .with_default("1"),
                     integer_key("at_most", "tokens", kTokens, "Longer ones are cut to this.",
                                 [of](Experiment& e, const Scalar& v) { of(e).at_most = v.integer; })
                         .with_default(std::to_string(kMaxTokensPerLength))})
      .needed();
}

Key like_prompt(Key key) {
  key.like = "workload.lengths.prompt";
  return key;
}

DrawnLengths& drawn(Experiment& e) { return std::get<DrawnLengths>(e.workload.spec.lengths); }
DrawnConversations& said(Experiment& e) { return std::get<DrawnConversations>(e.workload.spec.lengths); }

}  // namespace

Key lengths_key() {
  Key key =
      map_key("lengths", "Lengths drawn from distributions instead of a trace's.",
              {length_key("prompt", "Prompt tokens.", [](Experiment& e) -> LengthSpec& { return drawn(e).prompt; })
                   .as_section(),
               like_prompt(length_key("output", "Answer tokens.",
                                      [](Experiment& e) -> LengthSpec& { return drawn(e).output; }))},
              [](Experiment& e, const Scalar&) { e.workload.spec.lengths = DrawnLengths{}; });
  key.optional = true;
  return std::move(key).as_section();
}

Key conversations_key() {
  Key key = map_key(
      "conversations",
      "Conversations flattened into plain requests, one after the other: each turn's prompt is all that was said "
      "before it and a new question.",
      {like_prompt(length_key("turns", "Turns of a conversation; a count, drawn as a length is.",
                              [](Experiment& e) -> LengthSpec& { return said(e).turns; })),
       like_prompt(length_key("question", "Tokens that each turn adds to the prompt.",
                              [](Experiment& e) -> LengthSpec& { return said(e).question; })),
       like_prompt(length_key("answer", "Answer tokens.", [](Experiment& e) -> LengthSpec& { return said(e).answer; })),
       integer_key("context", "tokens", {2, kMaxTokensPerLength},
                   "A conversation ends early where its next prompt and answer would exceed this.",
                   [](Experiment& e, const Scalar& v) { said(e).context = Tokens{v.integer}; })
           .with_default(std::to_string(kMaxTokensPerLength))},
      [](Experiment& e, const Scalar&) { e.workload.spec.lengths = DrawnConversations{}; });
  key.optional = true;
  return std::move(key).as_section();
}

}  // namespace servecast::experiments
