// The cohort's aggregates and calendars against the plain sums over its members.
#include "sim/cohort.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <map>

#include "sim/random.hpp"

using namespace servecast;

namespace {

struct Plain {  // one member, the slow way
  std::int64_t context, left;
};

class Mirror {
 public:
  Mirror(std::int64_t block_size, std::int64_t window)
      : block_size_(block_size), window_(window), cohort_(Tokens{block_size}, true, Tokens{window}) {}

  void join(std::int64_t context, std::int64_t left) {
    const SeqId id = sequences_.acquire();
    sequences_[id].computed = context;
    cohort_.join(sequences_, id, left);
    members_[id] = {context, left};
  }
  void leave(std::size_t which) {
    const auto member = std::next(members_.begin(), static_cast<std::ptrdiff_t>(which % members_.size()));
    cohort_.leave(sequences_, member->first);
    sequences_.release(member->first);
    members_.erase(member);
  }
  void step_without(std::size_t which) {
    SeqId out = kNoSeq;
    if (!members_.empty()) {
      out = std::next(members_.begin(), static_cast<std::ptrdiff_t>(which % members_.size()))->first;
      cohort_.sit_out(sequences_, out);
    }
    advance(out);
  }
  void step() { advance(kNoSeq); }
  [[nodiscard]] std::size_t size() const { return members_.size(); }

  void check() const {
    std::int64_t attended = 0, in_window = 0, growth = 0;
    for (const auto& [id, member] : members_) {
      attended += member.context + 1;
      in_window += std::min(member.context + 1, window_);
      growth += member.context % block_size_ == 0 ? 1 : 0;
      CHECK(cohort_.context(sequences_[id]) == member.context);
      CHECK(cohort_.takes_block(sequences_[id]) == (member.context % block_size_ == 0));
    }
    CHECK(cohort_.count() == static_cast<std::int64_t>(members_.size()));
    CHECK(cohort_.attended() == Tokens{attended});
    CHECK(cohort_.attended_in_window() == Tokens{in_window});
    CHECK(cohort_.growth() == Blocks{growth});
  }

 private:
  void advance(SeqId out) {
    std::vector<SeqId> finishers, expected;
    cohort_.advance(sequences_, finishers);
    for (auto member = members_.begin(); member != members_.end();) {
      if (member->first != out) {
        ++member->second.context;
        --member->second.left;
      }
      if (member->second.left == 0) {
        expected.push_back(member->first);
        sequences_.release(member->first);
        member = members_.erase(member);
      } else {
        ++member;
      }
    }
    std::sort(finishers.begin(), finishers.end());
    CHECK(finishers == expected);
  }

  std::int64_t block_size_, window_;
  Sequences sequences_;
  Cohort cohort_;
  std::map<SeqId, Plain> members_;
};

}  // namespace

TEST_CASE("aggregates, ends and block needs equal the sums over the members, whoever joins, leaves or sits out") {
  RandomStream random = stream(1, "cohort");
  for (const std::int64_t block_size : {1, 4, 16}) {
    Mirror mirror(block_size, 37);
    for (int i = 0; i < 3000; ++i) {
      const std::uint64_t what = random() % 8;
      const std::int64_t output = random() % 50 == 0 ? 9000 : 1 + static_cast<std::int64_t>(random() % 60);
      if (what < 2 && mirror.size() < 40) mirror.join(1 + static_cast<std::int64_t>(random() % 80), output);
      else if (what == 2 && mirror.size() > 0) mirror.leave(random());
      else if (what == 3) mirror.step_without(random());
      else mirror.step();
      mirror.check();
    }
  }
}

TEST_CASE("an answer longer than the finish calendar ends when it should") {
  Mirror mirror(16, 1000);
  mirror.join(5, 10'000);
  for (int i = 0; i < 9'999; ++i) mirror.step();
  CHECK(mirror.size() == 1);
  mirror.step();
  CHECK(mirror.size() == 0);
}
