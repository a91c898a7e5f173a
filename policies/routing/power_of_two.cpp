#include "policies/routing/routers.hpp"

namespace servecast {
namespace {

class PowerOfTwo final : public Router {
 public:
  PowerOfTwo(Load load, const RandomStream& random) : load_(load), random_(random) {}

  [[nodiscard]] std::optional<Load> looks_at() const override { return load_; }
  std::optional<ReplicaId> route(const RoutedRequest& /*request*/, const RouterView& view) override {
    const std::uint32_t count = view.count();
    const auto first = static_cast<std::uint32_t>(below(random_, count));
    if (count == 1) return view.nth(first);
    const auto offset = static_cast<std::uint32_t>(1 + below(random_, count - 1));
    const ReplicaId one = view.nth(first), other = view.nth((first + offset) % count);
    return view.load(other) < view.load(one) ? other : one;
  }

 private:
  Load load_;
  RandomStream random_;
};

}  // namespace

std::unique_ptr<Router> make_power_of_two(Load load, const RandomStream& random) {
  return std::make_unique<PowerOfTwo>(load, random);
}

}  // namespace servecast
