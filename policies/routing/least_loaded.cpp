#include "policies/routing/routers.hpp"

namespace servecast {
namespace {

class LeastLoaded final : public Router {
 public:
  explicit LeastLoaded(Load load) : load_(load) {}

  [[nodiscard]] std::optional<Load> looks_at() const override { return load_; }
  std::optional<ReplicaId> route(const RoutedRequest& /*request*/, const RouterView& view) override {
    return view.least_loaded();
  }

 private:
  Load load_;
};

}  // namespace

std::unique_ptr<Router> make_least_loaded(Load load) { return std::make_unique<LeastLoaded>(load); }

}  // namespace servecast
