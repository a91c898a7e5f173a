#include "policies/routing/routers.hpp"
#include "sim/random.hpp"

namespace servecast {
namespace {

// Jump consistent hash (Lamping and Veach, arXiv:1406.2294): uniform over 0 … buckets − 1 in O(log buckets), and one
// more bucket moves only the share of the keys that belongs into it.
std::uint32_t bucket_of(std::uint64_t key, std::uint32_t buckets) {
  std::int64_t bucket = 0, next = 0;
  while (next < buckets) {
    bucket = next;
    key = key * 2862933555777941757ULL + 1;
    const double jump = static_cast<double>(std::int64_t{1} << 31) / static_cast<double>((key >> 33) + 1);
    next = static_cast<std::int64_t>(static_cast<double>(bucket + 1) * jump);
  }
  return static_cast<std::uint32_t>(bucket);
}

class PrefixAffinity final : public Router {
 public:
  std::optional<ReplicaId> route(const RoutedRequest& request, const RouterView& view) override {
    return view.nth(bucket_of(scrambled(request.affinity), view.count()));
  }
};

}  // namespace

std::unique_ptr<Router> make_prefix_affinity() { return std::make_unique<PrefixAffinity>(); }

}  // namespace servecast
