#include "policies/routing/routers.hpp"

namespace servecast {
namespace {

class Random final : public Router {
 public:
  explicit Random(const RandomStream& random) : random_(random) {}

  std::optional<ReplicaId> route(const RoutedRequest& /*request*/, const RouterView& view) override {
    return view.nth(static_cast<std::uint32_t>(below(random_, view.count())));
  }

 private:
  RandomStream random_;
};

}  // namespace

std::unique_ptr<Router> make_random(const RandomStream& random) { return std::make_unique<Random>(random); }

}  // namespace servecast
