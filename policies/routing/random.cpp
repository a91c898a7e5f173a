#include "sim/random.hpp"

#include "policies/routing/routers.hpp"

namespace servecast {
namespace {

class Random final : public Router {
 public:
  explicit Random(std::uint64_t seed) : random_(stream(seed, "router")) {}

  std::optional<ReplicaId> route(const RoutedRequest& /*request*/, const RouterView& view) override {
    return view.nth(static_cast<std::uint32_t>(below(random_, view.count())));
  }

 private:
  RandomStream random_;
};

}  // namespace

std::unique_ptr<Router> make_random(std::uint64_t seed) { return std::make_unique<Random>(seed); }

}  // namespace servecast
