// Little's law, kept as an exact identity: the integral of the number of requests in the system equals the
// sum of the times they spent there.
#pragma once

#include "sim/time.hpp"
#include "sim/wide.hpp"

namespace servecast {

class LittlesLaw {
 public:
  void arrive(SimTime at) {
    advance(at);
    ++inside_;
    entered_ += at.time_since_epoch().count();
  }
  // `stay`: at minus the arrival of the one who leaves.
  void leave(SimTime at, Duration stay) {
    advance(at);
    --inside_;
    stays_ += stay.count();
    left_arrivals_ += (at - stay).time_since_epoch().count();
  }
  // Those still inside at `end` have stayed until then. Throws SelfCheckError on a breach.
  void check(SimTime end);

 private:
  void advance(SimTime at) {
    area_ += static_cast<Wide>(inside_) * (at - last_).count();
    last_ = at;
  }

  SimTime last_ = kStart;
  std::int64_t inside_ = 0;
  Wide area_ = 0, stays_ = 0;
  Wide entered_ = 0, left_arrivals_ = 0;  // Σ arrival times
};

}  // namespace servecast
