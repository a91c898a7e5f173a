// The routers, one file each; policies/routing/registry.hpp names them.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/random.hpp"
#include "sim/router.hpp"

namespace servecast {

// One after the other, in order of number.
[[nodiscard]] std::unique_ptr<Router> make_round_robin();

// Any, equally likely.
[[nodiscard]] std::unique_ptr<Router> make_random(const RandomStream& random);

// The one with the least load; of equals the lowest number. By requests this is "least outstanding requests", by prompt
// tokens "least outstanding tokens", by waiting requests "join the shortest queue".
[[nodiscard]] std::unique_ptr<Router> make_least_loaded(Load load);

// Draws two different ones and takes the less loaded, of equals the first drawn.
[[nodiscard]] std::unique_ptr<Router> make_power_of_two(Load load, const RandomStream& random);

// Requests with one prefix or session go to one replica, others anywhere: a consistent hash.
[[nodiscard]] std::unique_ptr<Router> make_prefix_affinity();

// One queue for all: a request waits in the cluster until a replica has fewer than `slots` requests, and goes to the
// one with the fewest.
[[nodiscard]] std::unique_ptr<Router> make_shared_queue(std::int64_t slots);

}  // namespace servecast
