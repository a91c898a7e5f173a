// A back end that answers with the reference, rounded to the formats of the outputs: what a perfect kernel would give.
// Tests of cases and judgement plant their faults on it.
#pragma once

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <type_traits>
#include <utility>

#include "kernels/backend.hpp"
#include "kernels/reference/reference.hpp"

namespace servecast::kernels {

class HostMemory final : public DeviceMemory {
 public:
  void* allocate(std::int64_t bytes) override {
    const auto size = static_cast<std::size_t>((bytes + 255) / 256 * 256);
    ++live;
    return std::aligned_alloc(256, size);
  }
  void release(void* pointer) override {
    --live;
    std::free(pointer);
  }
  Status copy(void* to, const void* from, std::int64_t bytes, Copy) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return {};
  }

  int live = 0;
};

class ReferenceBackend final : public Backend {
 public:
  // `fault` is called with the operation after its outputs were written, and may change anything.
  using Fault = std::function<void(Operation&)>;

  explicit ReferenceBackend(Fault fault = [](Operation&) {}) : fault_(std::move(fault)) { info_.name = "reference"; }

  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] HostMemory& memory() override { return memory_; }
  Status launch(const Operation& operation, Stream) override {
    Operation op = operation;
    const std::vector<Expected> outputs = reference(operation);
    for (const Expected& output : outputs) write(output, outputs, op);
    fault_(op);
    return {};
  }
  Status synchronize() override { return {}; }
  Status time(const TimingPlan&, const std::function<Status(std::int32_t, Stream)>&, std::vector<double>&) override {
    return Status::unsupported("the reference is not timed");
  }

 private:
  // What a stored element of `output` is multiplied by when it is read.
  static double scale_of(const Operation& operation, const Expected& output, std::size_t index,
                         const std::vector<Expected>& outputs) {
    const auto* append = std::get_if<AppendKv>(&operation);
    const bool keys = output.buffer == "keys";
    if (append == nullptr || (!keys && output.buffer != "values")) return 1;
    if (append->kv.type == DType::kFp8) return keys ? append->kv.key_scale : append->kv.value_scale;
    if (append->kv.type != DType::kInt8) return 1;
    const Expected& scales = outputs[keys ? 3 : 4];
    return scales.values[index / static_cast<std::size_t>(append->kv.head_dim)];
  }

  static void write(const Expected& output, const std::vector<Expected>& outputs, Operation& operation) {
    std::visit(
        [&](auto& op) {
          for_each_buffer(op, [&](const Buffer& buffer, auto* data) {
            if constexpr (!std::is_const_v<std::remove_pointer_t<decltype(data)>>) {
              if (buffer.name != output.buffer) return;
              for (std::size_t i = 0; i < output.values.size(); ++i) {
                if (std::isnan(output.values[i]) && buffer.role == Role::kInOut) continue;
                store(buffer.type, data, static_cast<std::int64_t>(i),
                      output.values[i] / scale_of(operation, output, i, outputs));
              }
            }
          });
        },
        operation);
  }

  Fault fault_;
  BackendInfo info_;
  HostMemory memory_;
};

}  // namespace servecast::kernels
