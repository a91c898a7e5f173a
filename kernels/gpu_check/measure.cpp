#include "kernels/gpu_check/measure.hpp"

#include "kernels/gpu_check/operands.hpp"

namespace servecast::kernels::gpu_check {
namespace {

std::int64_t set_bytes(const Point& point) {
  std::int64_t body = 0;
  std::int64_t tail = 0;
  for (const Operation& operation : point.body) body += operand_bytes(operation);
  for (const Operation& operation : point.tail) tail += operand_bytes(operation);
  return point.times * body + tail;
}

}  // namespace

Status Meter::place_set(const Point& point, Random& random) {
  Set& set = sets_.emplace_back();
  const auto place_all = [&](const std::vector<Operation>& shapes) {
    Status status;
    for (std::size_t i = 0; i < shapes.size() && status.ok(); ++i) {
      status = place(shapes[i], arena_, *device_.backend, random, set.emplace_back());
    }
    return status;
  };
  Status status;
  for (std::int32_t i = 0; i < point.times && status.ok(); ++i) status = place_all(point.body);
  return status.ok() ? place_all(point.tail) : status;
}

Status Meter::launch_set(std::int32_t call, Stream stream) {
  Status status;
  for (const Operation& operation : sets_[static_cast<std::size_t>(call) % sets_.size()]) {
    if (status.ok()) status = device_.backend->launch(operation, stream);
  }
  return status;
}

Status Meter::estimate(double& seconds) {
  std::vector<double> samples;
  const auto call = [&](std::int32_t i, Stream stream) { return launch_set(i, stream); };
  const Status status = device_.backend->time({.warmups = quick_ ? 0 : 2, .calls = 1, .replays = 1}, call, samples);
  if (status.ok()) seconds = samples.front();
  return status;
}

Status Meter::sample(std::int32_t calls, std::vector<double>& seconds) {
  const auto call = [&](std::int32_t i, Stream stream) { return launch_set(i, stream); };
  Status status;
  for (std::int32_t wanted = quick_ ? 1 : replays_wanted(seconds); wanted > 0 && status.ok();) {
    std::vector<double> more;
    status = device_.backend->time({.warmups = quick_ ? 0 : 1, .calls = calls, .replays = wanted}, call, more);
    seconds.insert(seconds.end(), more.begin(), more.end());
    wanted = quick_ ? 0 : replays_wanted(seconds);
  }
  return status;
}

Status Meter::measure(const Point& point, Measured& measured) {
  arena_.clear();
  sets_.clear();
  Random random(1);
  double seconds = 0;
  Status status = place_set(point, random);
  if (status.ok()) status = device_.backend->synchronize();
  if (status.ok()) status = estimate(seconds);
  if (!status.ok()) return status;
  const std::int64_t bytes = set_bytes(point);
  const std::int64_t l2 = device_.backend->info().l2_bytes;
  measured.calls = quick_ ? 1 : calls_of(seconds);
  measured.buffer_sets = quick_ ? 1 : buffer_sets(bytes, l2, arena_.bytes(), measured.calls);
  measured.cold = bytes * measured.buffer_sets > kColdOverL2 * l2;
  for (std::int32_t i = 1; i < measured.buffer_sets && status.ok(); ++i) status = place_set(point, random);
  if (status.ok()) status = device_.backend->synchronize();
  std::vector<double> samples;
  if (status.ok()) status = sample(measured.calls, samples);
  if (status.ok()) measured.summary = summarise(samples);
  return status;
}

}  // namespace servecast::kernels::gpu_check
