#include "kernels/gpu_check/plan.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <set>

#include "kernels/cases/case.hpp"
#include "kernels/gpu_check/operands.hpp"
#include "kernels/gpu_check/shape.hpp"

namespace servecast::kernels::gpu_check {
namespace {

constexpr std::int64_t kArena = std::int64_t{84} << 30U;  // 60 % of an H200's memory

PlanTarget h200() {
  PlanTarget target;
  target.processors = 132;
  return target;
}

std::vector<Operation> operations_of(const Point& point) {
  std::vector<Operation> operations = point.body;
  operations.insert(operations.end(), point.tail.begin(), point.tail.end());
  return operations;
}

std::int64_t bytes_of_point(const Point& point) {
  std::int64_t bytes = 0;
  for (const Operation& operation : point.body) bytes += point.times * operand_bytes(operation);
  for (const Operation& operation : point.tail) bytes += operand_bytes(operation);
  return bytes;
}

// As it would be launched: with its operands anywhere.
Status validity(const Operation& operation) {
  static std::uint64_t anything = 0;
  return validate(relocated(operation, [](std::size_t) -> void* { return &anything; }));
}

void check_plan(const std::vector<Point>& points) {
  for (const Point& point : points) {
    CHECK(bytes_of_point(point) < kArena);
    for (const Operation& operation : operations_of(point)) {
      const Status status = validity(operation);
      CAPTURE(shape_fields(operation).text());
      CAPTURE(status.message());
      CHECK(status.ok());
    }
  }
}

TEST_CASE("every point of the plan for a large GPU is sound and fits into its memory") {
  check_plan(measuring_plan(h200()));
  check_plan(graph_plan(h200()));
}

TEST_CASE("the small plan is sound on every kind of back end") {
  PlanTarget target;
  target.smoke = true;
  check_plan(measuring_plan(target));
  target.type = DType::kF32;
  target.layout = WeightLayout::kPanels;
  target.method = GemmMethod::kOwn;
  check_plan(measuring_plan(target));
  check_plan(graph_plan(target));
}

TEST_CASE("both plans measure every operator at least once, and no shape twice") {
  for (const bool smoke : {false, true}) {
    PlanTarget target = h200();
    target.smoke = smoke;
    std::set<std::string_view> operators;
    std::set<std::string> shapes;
    for (const Point& point : measuring_plan(target)) {
      for (const Operation& operation : point.body) operators.insert(name_of(operation));
      if (point.body.size() == 1) CHECK(shapes.insert(point.group + shape_fields(point.body.front()).text()).second);
    }
    CHECK(operators.size() == std::variant_size_v<Operation>);
  }
}

TEST_CASE("whole layers and steps are held out of the fit, single operators are not") {
  const auto held_out = [](const Point& point) { return point.held_out; };
  const std::vector<Point> single = measuring_plan(h200());
  const std::vector<Point> graphs = graph_plan(h200());
  CHECK(std::none_of(single.begin(), single.end(), held_out));
  CHECK(std::all_of(graphs.begin(), graphs.end(), held_out));
  CHECK(graphs.size() >= 12);
}

}  // namespace
}  // namespace servecast::kernels::gpu_check
