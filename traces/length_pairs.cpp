#include "traces/length_pairs.hpp"

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>

#include "traces/numbers.hpp"

namespace servecast {
namespace {

// Prefixes by their first block, sessions by their number: odd and even, so that they do not mix; 0 is neither.
std::uint64_t of_session(std::uint64_t session) { return (session + 1) << 1; }

std::uint64_t affinity_of(const TraceRow& row) {
  if (!row.prefix.empty()) return (row.prefix.front().first << 1) | 1;
  return row.session ? of_session(*row.session) : 0;
}

LengthPair lengths_of(const Trace& trace, std::size_t index) {
  const TraceRow row = trace.row(index);
  return {row.prompt, row.output, affinity_of(row)};
}

class InOrder : public LengthPairs {
 public:
  explicit InOrder(const Trace& trace) : trace_(trace) {}
  LengthPair next() override { return lengths_of(trace_, index_++ % trace_.size()); }

 private:
  const Trace& trace_;
  std::size_t index_ = 0;
};

class Resampled : public LengthPairs {
 public:
  Resampled(const Trace& trace, RandomStream stream) : trace_(trace), index_(0, trace.size() - 1), stream_(stream) {}
  LengthPair next() override { return lengths_of(trace_, index_(stream_)); }

 private:
  const Trace& trace_;
  boost::random::uniform_int_distribution<std::size_t> index_;
  RandomStream stream_;
};

class Drawn : public LengthPairs {
 public:
  Drawn(const DrawnLengths& spec, std::uint64_t seed)
      : prompt_(spec.prompt, stream(seed, "lengths.prompt"), "prompt"),
        output_(spec.output, stream(seed, "lengths.output"), "output") {}
  LengthPair next() override { return {prompt_.next(), output_.next(), 0}; }

 private:
  LengthSampler prompt_;
  LengthSampler output_;
};

class Conversations : public LengthPairs {
 public:
  Conversations(const DrawnConversations& spec, std::uint64_t seed)
      : turns_(spec.turns, stream(seed, "lengths.turns"), "turns"),
        question_(spec.question, stream(seed, "lengths.prompt"), "question"),
        answer_(spec.answer, stream(seed, "lengths.output"), "answer"),
        context_(spec.context) {}

  LengthPair next() override {
    Tokens question = question_.next();
    Tokens answer = answer_.next();
    if (turns_left_ == 0 || said_ + question + answer > context_) {
      turns_left_ = turns_.next().count();
      said_ = Tokens{0};
      ++conversation_;
    }
    // A first turn that alone exceeds the context is cut to it, the question first.
    if (said_ == Tokens{0} && question + answer > context_) {
      answer = std::min(answer, Tokens{context_.count() - 1});
      question = std::min(question, context_ - answer);
    }
    --turns_left_;
    const LengthPair pair{said_ + question, answer, of_session(conversation_)};
    said_ = pair.prompt + answer;
    return pair;
  }

 private:
  LengthSampler turns_;
  LengthSampler question_;
  LengthSampler answer_;
  Tokens context_;
  std::int64_t turns_left_ = 0;
  std::uint64_t conversation_ = 0;
  Tokens said_{0};
};

struct Make {
  const Trace* trace;
  std::uint64_t seed;

  const Trace& needed() const {
    if (trace == nullptr || trace->empty()) {
      refuse("workload", "has no trace to take lengths from", "name a trace, or give lengths");
    }
    return *trace;
  }
  std::unique_ptr<LengthPairs> operator()(const RowsInOrder&) const { return std::make_unique<InOrder>(needed()); }
  std::unique_ptr<LengthPairs> operator()(const RowsResampled&) const {
    return std::make_unique<Resampled>(needed(), stream(seed, "lengths.resample"));
  }
  std::unique_ptr<LengthPairs> operator()(const DrawnLengths& spec) const {
    return std::make_unique<Drawn>(spec, seed);
  }
  std::unique_ptr<LengthPairs> operator()(const DrawnConversations& spec) const {
    if (spec.context < Tokens{2} || spec.context > Tokens{kMaxTokensPerLength}) {
      refuse("context", "is out of range", "expected 2 to 2147483647 tokens");
    }
    return std::make_unique<Conversations>(spec, seed);
  }
};

}  // namespace

std::unique_ptr<LengthPairs> make_length_pairs(const WorkloadLengths& lengths, const Trace* trace, std::uint64_t seed) {
  return std::visit(Make{trace, seed}, lengths);
}

}  // namespace servecast
