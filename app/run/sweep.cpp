#include "app/run/sweep.hpp"

#include <atomic>
#include <exception>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include "app/run/goodput.hpp"
#include "sim/error.hpp"

namespace servecast {
namespace {

// Runs `act`; what it throws comes out with the point's axes in front.
template <class Act>
void naming_the_point(const PreparedPoint& prepared, Act act) {
  const std::string axes = axes_text(prepared.point->axes);
  if (axes.empty()) return act();
  const std::string at = "at the point " + axes + ": ";
  try {
    act();
  } catch (const InputError& error) {
    throw InputError({}, at + error.what());
  } catch (const SelfCheckError& error) {
    throw SelfCheckError(at + error.what());
  } catch (const StalledError& error) {
    throw StalledError(at + error.what());
  }
}

void run_one(const PreparedPoint& prepared, std::size_t index, ProgressBoard& board, const PointSink& sink,
             PointResult& result) {
  RequestTable requests;
  std::uint64_t told = 0;
  const Progress progress = [&](std::uint64_t ended, SimTime) {
    board.requests_ended(ended - told);
    told = ended;
  };
  const bool searched = prepared.point->experiment.workload.rate_is_goodput;
  result = searched ? run_at_goodput(prepared, requests, progress) : run_point(prepared, requests, progress);
  if (sink) sink(index, result, requests);
  board.requests_ended(requests.size() - told);
  board.point_done();
}

}  // namespace

std::vector<PreparedPoint> prepare_sweep(const Study& study, TraceCache& traces) {
  std::vector<PreparedPoint> points;
  points.reserve(study.points.size());
  for (const GridPoint& point : study.points) {
    PreparedPoint named;
    named.point = &point;
    naming_the_point(named, [&] {
      points.push_back(prepare_point(point, traces));
      if (point.experiment.workload.rate_is_goodput) check_goodput_is_defined(points.back());
    });
  }
  return points;
}

void for_each_point(const std::vector<PreparedPoint>& points, int threads,
                    const std::function<void(std::size_t)>& act) {
  namespace tbb = oneapi::tbb;
  const int used = threads > 0 ? threads : tbb::this_task_arena::max_concurrency();
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(used));
  tbb::task_arena arena(used);

  std::vector<std::exception_ptr> errors(points.size());
  std::atomic<std::size_t> first_failed{points.size()};
  const auto run = [&](std::size_t index) {
    if (index > first_failed) return;  // its result would be thrown away
    try {
      naming_the_point(points[index], [&] { act(index); });
    } catch (...) {
      errors[index] = std::current_exception();
      std::size_t before = first_failed;
      while (index < before && !first_failed.compare_exchange_weak(before, index)) {
      }
    }
  };
  arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, points.size(), 1),
        [&](const tbb::blocked_range<std::size_t>& range) {
          for (std::size_t index = range.begin(); index != range.end(); ++index) run(index);
        },
        tbb::simple_partitioner{});
  });
  if (first_failed < points.size()) std::rethrow_exception(errors[first_failed]);
}

std::vector<PointResult> run_sweep(const std::vector<PreparedPoint>& points, int threads, ProgressBoard& board,
                                   const PointSink& sink) {
  std::vector<PointResult> results(points.size());
  for_each_point(points, threads,
                 [&](std::size_t index) { run_one(points[index], index, board, sink, results[index]); });
  return results;
}

std::string axis_title(const std::string& path) { return path.substr(path.rfind('.') + 1); }

std::string axes_text(const std::vector<std::pair<std::string, std::string>>& axes) {
  std::string text;
  for (const auto& [path, value] : axes) text += (text.empty() ? "" : ", ") + axis_title(path) + "=" + value;
  return text;
}

}  // namespace servecast
