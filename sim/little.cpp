#include "sim/little.hpp"

#include "sim/error.hpp"

namespace servecast {

void LittlesLaw::check(SimTime end) {
  if (end > last_) advance(end);
  const Wide still_inside = static_cast<Wide>(inside_) * last_.time_since_epoch().count() - (entered_ - left_arrivals_);
  if (area_ != stays_ + still_inside) throw SelfCheckError("Little's law is breached: time in system is not conserved");
}

}  // namespace servecast
