#include <algorithm>
#include <array>

#include "kernels/gpu_check/measure.hpp"
#include "kernels/gpu_check/operands.hpp"
#include "kernels/gpu_check/plan_parts.hpp"
#include "kernels/gpu_check/session.hpp"
#include "kernels/gpu_check/shape.hpp"

namespace servecast::kernels::gpu_check {
namespace {

constexpr std::int64_t kCopyBytes = std::int64_t{4} << 30U;
constexpr std::int64_t kSmokeCopyBytes = std::int64_t{4} << 20U;
constexpr std::int32_t kLaunches = 200;
constexpr std::int32_t kGemm = 8192;
constexpr std::int32_t kSmokeGemm = 64;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

JsonObject ceiling(std::string_view name) {
  JsonObject record;
  return record.add("record", "ceiling").add("name", name);
}

class Ceilings {
 public:
  explicit Ceilings(const Session& session) : session_(session), arena_(session.device) {}

  PhaseResult run() {
    const std::int64_t bytes = session_.plan_target().smoke ? kSmokeCopyBytes : kCopyBytes;
    PhaseResult result{arena_.reserve(3 * bytes)};
    if (result.status.ok()) result.status = product();
    if (result.status.ok()) result.status = device_copy(std::min(bytes, arena_.bytes() / 2));
    if (result.status.ok()) result.status = launches();
    if (result.status.ok()) result.status = host_copies();
    const Status written = session_.write(records_);
    if (result.status.ok()) result.status = written;
    if (session_.device.is_gpu() && !session_.device.is_linked()) result.lack = Lack::kLinked;
    return result;
  }

 private:
  // The largest product that models have, and the clocks warm by the time it is measured.
  Status product() {
    std::vector<Point> points;
    PlanBuilder plan(session_.plan_target(), points);
    const std::int32_t size = session_.plan_target().smoke ? kSmokeGemm : kGemm;
    plan.add("ceiling", plan.gemm(size, size, size));
    Measured measured;
    Meter meter(session_.device, arena_, session_.plan_target().smoke);
    Status status = meter.measure(points.front(), measured);
    if (!status.ok()) return status;
    const double seconds = measured.summary.median_s;
    JsonObject record = ceiling("gemm").add("size", size).add("median_s", seconds).add("noise", measured.summary.noise);
    records_.push_back(record.add("flops_per_s", work(points.front().body.front()).flops / seconds));
    return {};
  }

  // Bytes read and written, over the time.
  Status device_copy(std::int64_t bytes) {
    if (!session_.device.is_linked()) return {};
    arena_.clear();
    void* from = arena_.allocate(bytes);
    void* to = arena_.allocate(bytes);
    Status status = arena_.fill(from, DType::kBf16, bytes, false);
    std::vector<double> seconds;
    const auto copy = [&](std::int32_t, Stream stream) { return session_.device.copy(to, from, bytes, stream); };
    if (status.ok()) status = session_.backend().synchronize();
    if (status.ok()) status = session_.backend().time({.warmups = 1, .calls = 2, .replays = 5}, copy, seconds);
    if (!status.ok()) return status;
    JsonObject record = ceiling("device_copy").add("bytes", bytes).add("median_s", median(seconds));
    records_.push_back(record.add("bytes_per_s", 2.0 * static_cast<double>(bytes) / median(seconds)));
    return {};
  }

  // A launch of nothing: as one of many in a graph, alone in a graph, and by the host, one after another.
  Status launches() {
    if (!session_.device.is_linked()) return {};
    const auto empty = [&](std::int32_t, Stream stream) { return session_.device.launch_empty(stream); };
    std::vector<double> many;
    std::vector<double> one;
    Status status = session_.backend().time({.warmups = 2, .calls = kLaunches, .replays = 15}, empty, many);
    if (status.ok()) status = session_.backend().time({.warmups = 2, .calls = 1, .replays = 15}, empty, one);
    const Clock::time_point start = Clock::now();
    for (std::int32_t i = 0; i < kLaunches && status.ok(); ++i) status = session_.device.launch_empty(nullptr);
    const double issued = seconds_since(start);
    if (status.ok()) status = session_.backend().synchronize();
    if (!status.ok()) return status;
    records_.push_back(ceiling("launch_in_graph").add("median_s", median(many)));
    records_.push_back(ceiling("graph_of_one").add("median_s", median(one)));
    records_.push_back(ceiling("launch_by_host").add("median_s", issued / kLaunches));
    return {};
  }

  // From and to ordinary host memory, the call's whole time.
  Status host_copies() {
    for (const std::int64_t bytes : {std::int64_t{1} << 12U, std::int64_t{1} << 18U, std::int64_t{1} << 24U}) {
      if (2 * bytes > arena_.bytes()) break;
      std::vector<std::uint8_t> host(static_cast<std::size_t>(bytes), 1);
      arena_.clear();
      void* device = arena_.allocate(bytes);
      for (const Copy direction : {Copy::kToDevice, Copy::kToHost}) {
        const bool there = direction == Copy::kToDevice;
        std::vector<double> seconds;
        Status status;
        for (int i = 0; i < 5 && status.ok(); ++i) {
          const Clock::time_point start = Clock::now();
          status = session_.backend().memory().copy(there ? device : host.data(), there ? host.data() : device, bytes,
                                                    direction);
          seconds.push_back(seconds_since(start));
        }
        if (!status.ok()) return status;
        records_.push_back(
            ceiling(there ? "host_to_device" : "device_to_host").add("bytes", bytes).add("median_s", median(seconds)));
      }
    }
    return {};
  }

  const Session& session_;
  Arena arena_;
  std::vector<JsonObject> records_;
};

}  // namespace

PhaseResult run_ceilings(const Session& session) { return Ceilings(session).run(); }

}  // namespace servecast::kernels::gpu_check
