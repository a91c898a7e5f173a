#include <algorithm>

#include "kernels/gpu_check/measure.hpp"
#include "kernels/gpu_check/operands.hpp"
#include "kernels/gpu_check/plan_parts.hpp"
#include "kernels/gpu_check/session.hpp"
#include "kernels/gpu_check/shape.hpp"

namespace servecast::kernels::gpu_check {
namespace {

constexpr std::int32_t kPasses = 3;
constexpr std::int64_t kSmallArena = std::int64_t{256} << 20U;
constexpr double kShareOfMemory = 0.6;

// What is known of one point so far.
struct Progress {
  std::vector<double> medians;
  Measured last;
  double min_s = 0;
  double noise = 0;  // the worst pass's
  std::int32_t samples = 0;
  DeviceState state;
  Status refusal;
};

// What a graph point is made of, each launch with how often it occurs.
std::vector<JsonObject> parts_of(const Point& point) {
  std::vector<JsonObject> parts;
  for (const Operation& operation : point.body) parts.push_back(shape_fields(operation).add("times", point.times));
  for (const Operation& operation : point.tail) parts.push_back(shape_fields(operation).add("times", 1));
  return parts;
}

void add_total_work(const Point& point, JsonObject& record) {
  Work sum;
  const auto add = [&](const std::vector<Operation>& operations, double times) {
    for (const Operation& operation : operations) {
      const Work one = work(operation);
      sum.flops += times * one.flops;
      sum.bytes += times * one.bytes;
    }
  };
  add(point.body, point.times);
  add(point.tail, 1);
  record.add("flops", sum.flops).add("bytes", sum.bytes);
}

JsonObject record_of(const Point& point, const Progress& progress) {
  const bool single = point.body.size() == 1 && point.tail.empty() && point.times == 1;
  JsonObject record = single ? shape_fields(point.body.front()) : JsonObject().add("operator", point.group);
  record.add("record", "point").add("group", point.group).add("held_out", point.held_out);
  if (!single) record.add("parts", parts_of(point));
  if (!progress.refusal.ok()) return record.add("problem", progress.refusal.message());
  record.add("median_s", median(progress.medians)).add("min_s", progress.min_s).add("noise", progress.noise);
  record.add("samples", progress.samples).add("pass_medians_s", progress.medians);
  record.add("calls", progress.last.calls).add("buffer_sets", progress.last.buffer_sets);
  record.add("cold", progress.last.cold).add("sm_mhz", progress.state.sm_mhz);
  record.add("memory_mhz", progress.state.memory_mhz).add("temperature_c", progress.state.temperature_c);
  add_total_work(point, record);
  return record;
}

// The passes over a plan, and their records.
class Passes {
 public:
  Passes(const Session& session, std::vector<Point> points)
      : session_(session),
        points_(std::move(points)),
        progress_(points_.size()),
        arena_(session.device),
        meter_(session.device, arena_, session.plan_target().smoke) {}

  PhaseResult run(std::int32_t passes) {
    PhaseResult result;
    if (points_.empty()) result.lack = Lack::kWork;
    if (points_.empty()) return result;
    result.status = arena_.reserve(arena_bytes());
    for (std::int32_t pass = 0; pass < passes && result.status.ok() && !session_.deadline.passed(); ++pass) {
      result.status = run_pass(pass);
      const Status written = session_.write(records());
      if (result.status.ok()) result.status = written;
    }
    result.complete = !session_.deadline.passed();
    // What a device does not have, or has no memory for, is no failure.
    const auto failed = [](const Progress& progress) {
      return !progress.refusal.ok() && progress.refusal.code() != Status::Code::kUnsupported;
    };
    result.failed = static_cast<int>(std::count_if(progress_.begin(), progress_.end(), failed));
    return result;
  }

 private:
  [[nodiscard]] std::int64_t arena_bytes() const {
    if (session_.plan_target().smoke) return kSmallArena;
    return static_cast<std::int64_t>(kShareOfMemory * static_cast<double>(session_.backend().info().memory_bytes));
  }

  Status run_pass(std::int32_t pass) {
    Random random(static_cast<std::uint64_t>(pass) + 1);
    for (const std::int32_t index : random.permutation(static_cast<std::int64_t>(points_.size()))) {
      if (session_.deadline.passed()) break;
      Status status = keep_watch();
      if (status.ok()) status = run_point(static_cast<std::size_t>(index));
      if (!status.ok()) return status;
    }
    return {};
  }

  // A refusal concerns one point; a device that failed concerns all that follow.
  Status run_point(std::size_t index) {
    Progress& progress = progress_[index];
    if (!progress.refusal.ok()) return {};
    progress.refusal = meter_.measure(points_[index], progress.last);
    if (!progress.refusal.ok()) return session_.backend().synchronize();
    const Summary& summary = progress.last.summary;
    progress.min_s = progress.medians.empty() ? summary.min_s : std::min(progress.min_s, summary.min_s);
    progress.medians.push_back(summary.median_s);
    progress.noise = std::max(progress.noise, summary.noise);
    progress.samples += summary.samples;
    progress.state = session_.nvml.state();
    return {};
  }

  Status keep_watch() {
    const double now = session_.deadline.elapsed_s();
    if (!sentinel_.due(now)) return {};
    std::vector<Point> fixed;
    PlanBuilder builder(session_.plan_target(), fixed);
    const std::int32_t size = session_.plan_target().smoke ? 64 : 4096;
    builder.add("sentinel", builder.gemm(size, size, size));
    Measured measured;
    const Status status = meter_.measure(fixed.front(), measured);
    if (status.ok()) sentinel_.measured(now, measured.summary.median_s);
    return status;
  }

  [[nodiscard]] std::vector<JsonObject> records() const {
    JsonObject header;
    header.add("record", "header").add("format", "servecast-measurements").add("version", 1);
    add_device(session_, header);
    add_state(session_, header);
    header.add("sentinel_drift", sentinel_.drift()).add("steady", sentinel_.steady());
    std::vector<JsonObject> records{header};
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (!progress_[i].medians.empty() || !progress_[i].refusal.ok()) {
        records.push_back(record_of(points_[i], progress_[i]));
      }
    }
    return records;
  }

  const Session& session_;
  std::vector<Point> points_;
  std::vector<Progress> progress_;
  Arena arena_;
  Meter meter_;
  Sentinel sentinel_;
};

std::vector<Point> wanted(const Session& session, std::vector<Point> points) {
  const auto unwanted = [&](const Operation& operation) { return !session.wants(operation); };
  std::erase_if(points, [&](const Point& point) {
    return std::any_of(point.body.begin(), point.body.end(), unwanted) ||
           std::any_of(point.tail.begin(), point.tail.end(), unwanted);
  });
  return points;
}

}  // namespace

PhaseResult run_measure(const Session& session) {
  Passes passes(session, wanted(session, measuring_plan(session.plan_target())));
  return passes.run(session.plan_target().smoke ? 1 : kPasses);
}

PhaseResult run_graphs(const Session& session) {
  Passes passes(session, wanted(session, graph_plan(session.plan_target())));
  return passes.run(1);
}

}  // namespace servecast::kernels::gpu_check
