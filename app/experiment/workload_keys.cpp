#include "app/experiment/keys.hpp"
#include "traces/read.hpp"

namespace servecast::experiments {
namespace {

constexpr IntegerRange kTokens{1, kMaxTokensPerLength};

TraceChoice& trace(Experiment& e) { return *e.workload.trace; }

Key format_key() {
  std::vector<std::string> names;
  for (const FormatInfo& format : trace_formats()) names.push_back(format.name);
  return choice_key("format", std::move(names), "Its format; by default found from the content.",
                    [](Experiment& e, const Scalar& v) { trace(e).format = v.text; });
}

Key trace_key() {
  Key key = map_key(
      "trace",
      "Recorded requests: lengths, and arrivals where the source has them. A plain path stands for `{path: …}`.",
      {text_key(Key::Kind::kPath, "path", "The trace file.",
                [](Experiment& e, const Scalar& v) { trace(e).path = v.text; })
           .needed(),
       format_key(),
       boolean_key("sort", "Sort rows by arrival; otherwise a row out of order is an error.",
                   [](Experiment& e, const Scalar& v) { trace(e).sort = v.flag; })
           .with_default("false"),
       number_key("characters_per_token", "characters", {0.1, 100},
                  "How traces of text are counted where no tokenizer is given; an estimate that results repeat.",
                  [](Experiment& e, const Scalar& v) { trace(e).characters_per_token = v.number; }),
       text_key(Key::Kind::kPath, "tokenizer",
                "Counts traces of text: a sentencepiece model, or a Hugging Face `tokenizer.json` with byte-level BPE.",
                [](Experiment& e, const Scalar& v) { trace(e).tokenizer = v.text; })},
      [](Experiment& e, const Scalar&) { e.workload.trace.emplace(); });
  key.shorthand = "path";
  key.optional = true;
  return std::move(key).as_section();
}

Key resample_key() {
  return boolean_key("resample", "Draw the trace's rows with replacement; a prompt keeps its answer's length.",
                     [](Experiment& e, const Scalar& v) {
                       if (v.flag) e.workload.spec.lengths = RowsResampled{};
                     })
      .with_default("false");
}

Key cycle_key() {
  return boolean_key("cycle", "Start the trace over when more requests are asked for than it has rows.",
                     [](Experiment& e, const Scalar& v) {
                       if (v.flag) e.workload.spec.lengths = RowsInOrder{.cycle = true};
                     })
      .with_default("false");
}

Key requests_key() {
  return integer_key("requests", "requests", {1, 4294967295},
                     "How many are sent; by default as many as the trace has rows. Needed where there is no trace.",
                     [](Experiment& e, const Scalar& v) { e.workload.spec.requests = v.integer; });
}

Key max_tokens_key() {
  Key key = integer_key("max_tokens", "tokens", kTokens,
                        "The client's cap on an answer, which schedulers see; `pinned`: each request's own output "
                        "length, as replays that ignore the end token do.",
                        [](Experiment& e, const Scalar& v) {
                          if (v.text.empty()) e.workload.spec.max_tokens = Tokens{v.integer};
                        });
  key.word = "pinned";
  return std::move(key).with_default("pinned");
}

}  // namespace

Key workload_key() {
  return map_key("workload", "What is asked: requests, their lengths, and when they come.",
                 {trace_key(), lengths_key(), conversations_key(), resample_key(), cycle_key(), arrivals_key(),
                  requests_key(), max_tokens_key()})
      .needed()
      .as_section();
}

}  // namespace servecast::experiments
