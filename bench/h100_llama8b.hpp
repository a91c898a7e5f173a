// The deployment that the simulator's speed is measured on: Llama-3.1-8B in bf16 on one H100 SXM, by roofline.
#pragma once

#include "costmodel/device.hpp"
#include "costmodel/memory.hpp"
#include "costmodel/model_config.hpp"
#include "costmodel/roofline.hpp"

namespace servecast::bench {

class H100Llama8B {
 public:
  H100Llama8B()
      : shape_(load_model(SERVECAST_SOURCE_DIR "/models/llama-3.1-8b.json")),
        device_(load_device(SERVECAST_SOURCE_DIR "/devices/h100-sxm.yaml")),
        dtypes_(runnable_dtypes(shape_, device_)),
        model_(shape_, device_, dtypes_) {}

  [[nodiscard]] Tokens kv_tokens() const {
    MemoryBudget budget;
    budget.capacity = device_.memory_reported.value_or(device_.memory);
    budget.batched_tokens = Tokens{16384};
    budget.sampled_rows = 1024;
    return plan_memory(shape_, dtypes_, budget).slots();
  }
  [[nodiscard]] StepCostModel& model() { return model_; }

 private:
  ModelShape shape_;
  DeviceSheet device_;
  Dtypes dtypes_;
  RooflineModel model_;
};

}  // namespace servecast::bench
