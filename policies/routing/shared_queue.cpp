#include "policies/routing/routers.hpp"

namespace servecast {
namespace {

class SharedQueue final : public Router {
 public:
  explicit SharedQueue(std::int64_t slots) : slots_(slots) {}

  [[nodiscard]] std::optional<Load> looks_at() const override { return Load::kRequests; }
  [[nodiscard]] bool holds() const override { return true; }
  std::optional<ReplicaId> route(const RoutedRequest& /*request*/, const RouterView& view) override {
    const ReplicaId free = view.least_loaded();
    if (view.load(free) >= slots_) return std::nullopt;
    return free;
  }

 private:
  std::int64_t slots_;
};

}  // namespace

std::unique_ptr<Router> make_shared_queue(std::int64_t slots) { return std::make_unique<SharedQueue>(slots); }

}  // namespace servecast
