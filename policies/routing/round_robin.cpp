#include "policies/routing/routers.hpp"

namespace servecast {
namespace {

class RoundRobin final : public Router {
 public:
  std::optional<ReplicaId> route(const RoutedRequest& /*request*/, const RouterView& view) override {
    if (next_ >= view.count()) next_ = 0;
    return view.nth(next_++);
  }

 private:
  std::uint32_t next_ = 0;
};

}  // namespace

std::unique_ptr<Router> make_round_robin() { return std::make_unique<RoundRobin>(); }

}  // namespace servecast
