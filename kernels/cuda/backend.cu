#include <algorithm>
#include <cuda_runtime.h>
#include <string>
#include <utility>

#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/device.hpp"
#include "kernels/cuda/launchers.hpp"
#include "kernels/cuda_module.hpp"

namespace servecast::kernels::cuda {
namespace {

__global__ void empty_kernel() {}

Status status_of(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return {};
  std::string message = call;
  message.append(": ").append(cudaGetErrorString(error));
  return Status::device(message.append(" (CUDA error ").append(std::to_string(error)).append(")"));
}

class Memory final : public DeviceMemory {
 public:
  void* allocate(std::int64_t bytes) override {
    void* pointer = nullptr;
    if (cudaMalloc(&pointer, static_cast<std::size_t>(bytes)) == cudaSuccess) return pointer;
    cudaGetLastError();  // a refused allocation harms nothing that follows
    return nullptr;
  }

  void release(void* pointer) override { cudaFree(pointer); }

  Status copy(void* to, const void* from, std::int64_t bytes, Copy direction) override {
    Status status = status_of(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    if (!status.ok() || bytes == 0) return status;
    const cudaMemcpyKind kind = direction == Copy::kToDevice ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    return status_of(cudaMemcpy(to, from, static_cast<std::size_t>(bytes), kind), "cudaMemcpy");
  }
};

// A captured graph, ready to be launched.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;  // two owners would destroy it twice
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
  }

  // Records what `record` launches on the stream; nothing runs yet.
  Status capture(cudaStream_t stream, const std::function<Status()>& record) {
    Status status =
        status_of(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    if (!status.ok()) return status;
    status = record();
    const Status ended = status_of(cudaStreamEndCapture(stream, &graph_), "cudaStreamEndCapture");
    if (!status.ok()) return status;
    if (!ended.ok()) return ended;
    return status_of(cudaGraphInstantiate(&executable_, graph_, 0), "cudaGraphInstantiate");
  }

  Status launch(cudaStream_t stream) const {
    return status_of(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch");
  }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

class EventPair {
 public:
  EventPair() {
    cudaEventCreate(&start_);
    cudaEventCreate(&stop_);
  }
  EventPair(const EventPair&) = delete;  // as of Graph
  EventPair& operator=(const EventPair&) = delete;
  ~EventPair() {
    cudaEventDestroy(start_);
    cudaEventDestroy(stop_);
  }

  Status start(cudaStream_t stream) const { return status_of(cudaEventRecord(start_, stream), "cudaEventRecord"); }

  // Waits for what lies between the two, and tells how long it took.
  Status stop(cudaStream_t stream, double& seconds) const {
    Status status = status_of(cudaEventRecord(stop_, stream), "cudaEventRecord");
    if (status.ok()) status = status_of(cudaEventSynchronize(stop_), "cudaEventSynchronize");
    float milliseconds = 0;
    if (status.ok()) status = status_of(cudaEventElapsedTime(&milliseconds, start_, stop_), "cudaEventElapsedTime");
    seconds = double{milliseconds} / 1e3;
    return status;
  }

 private:
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
};

class CudaBackend final : public Backend {
 public:
  CudaBackend(BackendInfo info, cudaStream_t stream) : info_(std::move(info)), stream_(stream) {
    target_.architecture = info_.architecture;
    target_.processors = info_.processors;
    target_.shared_memory_per_block = info_.shared_memory_per_block;
  }
  CudaBackend(const CudaBackend&) = delete;  // it owns the stream
  CudaBackend& operator=(const CudaBackend&) = delete;
  ~CudaBackend() override { cudaStreamDestroy(stream_); }

  const BackendInfo& info() const override { return info_; }
  DeviceMemory& memory() override { return memory_; }

  Status launch(const Operation& operation, Stream stream) override {
    return cuda::launch(operation, target_, stream_of(stream));
  }

  Status synchronize() override { return status_of(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

  Status time(const TimingPlan& plan, const std::function<Status(std::int32_t call, Stream stream)>& call,
              std::vector<double>& seconds) override {
    seconds.clear();
    Status status;
    // A kernel's first launch loads it, which a capture must not do: there is always one before.
    for (std::int32_t i = 0; i < std::max(plan.warmups, 1) && status.ok(); ++i) status = call(i, stream_);
    if (status.ok()) status = synchronize();
    if (!status.ok()) return status;
    Graph graph;
    status = graph.capture(stream_, [&] {
      Status recorded;
      for (std::int32_t i = 0; i < plan.calls && recorded.ok(); ++i) recorded = call(i, stream_);
      return recorded;
    });
    return status.ok() ? replay(plan, graph, seconds) : status;
  }

 private:
  cudaStream_t stream_of(Stream stream) const {
    return stream == nullptr ? stream_ : static_cast<cudaStream_t>(stream);
  }

  // The first replay uploads the graph; it is not timed.
  Status replay(const TimingPlan& plan, const Graph& graph, std::vector<double>& seconds) {
    const EventPair events;
    Status status = graph.launch(stream_);
    if (status.ok()) status = synchronize();
    for (std::int32_t i = 0; i < plan.replays && status.ok(); ++i) {
      double elapsed = 0;
      status = events.start(stream_);
      if (status.ok()) status = graph.launch(stream_);
      if (status.ok()) status = events.stop(stream_, elapsed);
      if (status.ok()) seconds.push_back(elapsed / plan.calls);
    }
    return status;
  }

  BackendInfo info_;
  Target target_;
  Memory memory_;
  cudaStream_t stream_;
};

std::string version_text(const char* name, int version) {
  std::string text = name;
  text.append(" ").append(std::to_string(version / 1000)).append(".");
  return text.append(std::to_string(version % 1000 / 10));
}

Status describe(BackendInfo& info) {
  cudaDeviceProp properties{};
  int driver = 0;
  int runtime = 0;
  char address[32] = {};
  Status status = status_of(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  if (status.ok()) status = status_of(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  if (status.ok()) status = status_of(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  if (status.ok()) status = status_of(cudaDeviceGetPCIBusId(address, sizeof address, 0), "cudaDeviceGetPCIBusId");
  if (!status.ok()) return status;
  info.name = "cuda";
  info.device = properties.name;
  info.architecture = properties.major * 10 + properties.minor;
  info.processors = properties.multiProcessorCount;
  info.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  info.shared_memory_per_block = static_cast<std::int64_t>(properties.sharedMemPerBlockOptin);
  info.l2_bytes = properties.l2CacheSize;
  info.address = address;
  info.versions = version_text("driver CUDA", driver).append(", ").append(version_text("runtime CUDA", runtime));
  return {};
}

// A device that this build has no code for fails here, once and with its name, and not at its first kernel.
Status has_kernels_for(const BackendInfo& info) {
  cudaFuncAttributes attributes{};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, empty_kernel);
  if (error != cudaErrorNoKernelImageForDevice && error != cudaErrorInvalidDeviceFunction) {
    return status_of(error, "cudaFuncGetAttributes");
  }
  std::string message = "no usable CUDA device: this build has no kernels for sm_";
  return Status::no_device(message.append(std::to_string(info.architecture)).append(", ").append(info.device));
}

}  // namespace

Status make_backend(std::unique_ptr<Backend>& backend) {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  Status status = usable_device(error, cudaGetErrorString(error), devices);
  BackendInfo info;
  if (status.ok()) status = describe(info);
  if (status.ok()) status = has_kernels_for(info);
  cudaStream_t stream = nullptr;
  if (status.ok()) status = status_of(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  if (status.ok()) backend = std::make_unique<CudaBackend>(std::move(info), stream);
  return status;
}

Status launch_empty(Stream stream) {
  empty_kernel<<<1, 32, 0, static_cast<cudaStream_t>(stream)>>>();
  return status_of(cudaGetLastError(), "the empty kernel");
}

Status copy_on_device(void* to, const void* from, std::int64_t bytes, Stream stream) {
  return status_of(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice,
                                   static_cast<cudaStream_t>(stream)),
                   "cudaMemcpyAsync");
}

}  // namespace servecast::kernels::cuda
