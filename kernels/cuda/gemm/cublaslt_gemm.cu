// Matrix products by cuBLASLt: one plan a shape.
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kernels/cuda/common/types.hpp"
#include "kernels/cuda/gemm/cublaslt.cuh"
#include "kernels/cuda/gemm/cublaslt.hpp"
#include "kernels/cuda/gemm/dequantise.cuh"

namespace servecast::kernels::cuda {
namespace {

constexpr std::int64_t kAlignment = 256;  // of what shares the workspace; the library asks for no more anywhere

// What a product is to the library: y = scale · x · weightsᵀ.
struct Shape {
  int m = 0;
  int n = 0;
  int k = 0;
  cudaDataType_t type = CUDA_R_16BF;  // of x and weights
  cudaDataType_t y_type = CUDA_R_16BF;
  std::int64_t workspace = 0;
  std::array<std::uint32_t, 3> alignments = {};  // of weights, x and y: bytes, kAlignment at most

  [[nodiscard]] auto key() const { return std::tie(m, n, k, type, y_type, workspace, alignments); }
  bool operator<(const Shape& other) const { return key() < other.key(); }
};

struct Operands {
  const void* weights = nullptr;
  const void* x = nullptr;
  void* y = nullptr;
  void* workspace = nullptr;
  float scale = 1;
};

template <class Object, class Destroy>
std::unique_ptr<std::remove_pointer_t<Object>, Destroy> owned(Object object, Destroy destroy) {
  return {object, destroy};
}

using Description = std::unique_ptr<std::remove_pointer_t<cublasLtMatmulDesc_t>, decltype(&cublasLtMatmulDescDestroy)>;
using Layout = std::unique_ptr<std::remove_pointer_t<cublasLtMatrixLayout_t>, decltype(&cublasLtMatrixLayoutDestroy)>;

struct Plan {
  Description operation{nullptr, nullptr};
  Layout weights{nullptr, nullptr};
  Layout x{nullptr, nullptr};
  Layout y{nullptr, nullptr};
  cublasLtMatmulAlgo_t algorithm{};
};

// The library is column-major, so that our x [m][k] is its k × m, our weights [n][k] its k × n, and y [m][n] its n × m:
// y = weightsᵀ · x there, the form that fp8 needs too.
Status describe(const CublasLt& library, const Shape& shape, Plan& plan) {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasStatus_t status = library.create_operation(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  plan.operation = owned(operation, library.destroy_operation);
  const cublasOperation_t transposed = CUBLAS_OP_T;
  if (status == CUBLAS_STATUS_SUCCESS) {
    status = library.set_operation(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof(transposed));
  }
  const auto describe_matrix = [&](Layout& layout, cudaDataType_t type, int rows, int columns) {
    if (status != CUBLAS_STATUS_SUCCESS) return;
    cublasLtMatrixLayout_t made = nullptr;
    status =
        library.create_layout(&made, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), rows);
    layout = owned(made, library.destroy_layout);
  };
  describe_matrix(plan.weights, shape.type, shape.k, shape.n);
  describe_matrix(plan.x, shape.type, shape.k, shape.m);
  describe_matrix(plan.y, shape.y_type, shape.n, shape.m);
  return library.status_of(status, "describing a product to cuBLASLt");
}

Status choose_algorithm(const CublasLt& library, const Shape& shape, Plan& plan) {
  cublasLtMatmulPreference_t made = nullptr;
  cublasStatus_t status = library.create_preference(&made);
  const auto preference = owned(made, library.destroy_preference);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    if (status == CUBLAS_STATUS_SUCCESS) status = library.set_preference(made, attribute, &value, sizeof(value));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(shape.workspace));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, shape.alignments[0]);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, shape.alignments[1]);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, shape.alignments[2]);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, shape.alignments[2]);
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  if (status == CUBLAS_STATUS_SUCCESS) {
    status = library.heuristic(library.handle, plan.operation.get(), plan.weights.get(), plan.x.get(), plan.y.get(),
                               plan.y.get(), made, 1, &result, &found);
  }
  if (status == CUBLAS_STATUS_SUCCESS && found == 0) status = CUBLAS_STATUS_NOT_SUPPORTED;
  plan.algorithm = result.algo;
  std::string call = "cuBLASLt's algorithm for m = ";
  call.append(std::to_string(shape.m)).append(", n = ").append(std::to_string(shape.n));
  call.append(", k = ").append(std::to_string(shape.k));
  return library.status_of(status, call.c_str());
}

class Plans {
 public:
  // Plans stay where they are, so that a launch uses its own without the lock.
  Status find(const CublasLt& library, const Shape& shape, const Plan*& plan) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto place = plans_.find(shape);
    if (place == plans_.end()) {
      Plan made;
      if (Status status = describe(library, shape, made); !status.ok()) return status;
      if (Status status = choose_algorithm(library, shape, made); !status.ok()) return status;
      place = plans_.emplace(shape, std::move(made)).first;
    }
    plan = &place->second;
    return {};
  }

 private:
  std::mutex mutex_;
  std::map<Shape, Plan> plans_;
};

Plans& plans() {
  static auto* made = new Plans;  // never destroyed: at exit the library may be gone before its descriptions
  return *made;
}

Status multiply(const Shape& shape, const Operands& operands, DeviceStream stream) {
  const CublasLt* library = nullptr;
  if (Status status = load_cublaslt(library); !status.ok()) return status;
  const Plan* plan = nullptr;
  if (Status status = plans().find(*library, shape, plan); !status.ok()) return status;
  const float none = 0;
  return library->status_of(
      library->multiply(library->handle, plan->operation.get(), &operands.scale, operands.weights, plan->weights.get(),
                        operands.x, plan->x.get(), &none, operands.y, plan->y.get(), operands.y, plan->y.get(),
                        &plan->algorithm, operands.workspace, static_cast<std::size_t>(shape.workspace), stream),
      "cublasLtMatmul");
}

std::uint32_t lowest_alignment(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const std::uintptr_t lowest = address & (~address + 1);
  return static_cast<std::uint32_t>(lowest == 0 || lowest > kAlignment ? kAlignment : lowest);
}

template <class T, class W>
Status dequantise(const Gemm& op, DeviceStream stream) {
  const bool aligned = aligned_rows<W>(op.weights, op.k, kChunk);
  const QuantisedWeights<W> from{static_cast<const W*>(op.weights), op.scales, op.k, op.group, aligned};
  const std::int64_t parts = ceil_div(op.k, std::int64_t{kDequantiseThreads} * kChunk);
  const Grid grid{dim3(static_cast<unsigned>(op.n), grid_extent(parts)), dim3(kDequantiseThreads), 0, stream};
  return launch(dequantise_kernel<T, W>, grid, from, static_cast<T*>(op.workspace));
}

Status dequantise(const Gemm& op, const Target& target, DeviceStream stream) {
  if (op.weight_type == DType::kInt4 && (op.group % kChunk != 0 || lowest_alignment(op.weights) < 4)) {
    return Status::unsupported("int4 weights need groups of a multiple of 8 elements, and to begin on 4 bytes");
  }
  return with_half_type(op.type, target, [&](auto type) {
    using T = typename decltype(type)::type;
    return op.weight_type == DType::kInt8 ? dequantise<T, std::int8_t>(op, stream)
                                          : dequantise<T, Int4Pair>(op, stream);
  });
}

Status lacks_type(const Gemm& op, const Target& target) {
  if (op.type == DType::kFp8) {
    if (target.architecture >= 89) return {};
    return Status::unsupported("fp8 products by cuBLASLt need sm_89 or later; our own product converts them");
  }
  return with_half_type(op.type, target, [](auto) { return Status(); });
}

Status lacks_workspace(const Gemm& op) {
  const std::int64_t needed = dequantised_bytes(op);
  if (needed <= op.workspace_bytes && lowest_alignment(op.workspace) == kAlignment) return {};
  std::string message = "cuBLASLt needs a workspace on 256 bytes";
  message.append(", for these weights of ").append(std::to_string(needed)).append(" bytes beside the library's own");
  return Status::invalid(std::move(message));
}

cudaDataType_t library_type(DType type) {
  if (type == DType::kFp8) return CUDA_R_8F_E4M3;
  return type == DType::kF16 ? CUDA_R_16F : CUDA_R_16BF;
}

}  // namespace

std::int64_t dequantised_bytes(const Gemm& op) {
  if (op.weight_type != DType::kInt8 && op.weight_type != DType::kInt4) return 0;
  return ceil_div(bytes_of(op.type, std::int64_t{1} * op.n * op.k), kAlignment) * kAlignment;
}

Status launch_library(const Gemm& op, const Target& target, DeviceStream stream) {
  if (Status status = lacks_type(op, target); !status.ok()) return status;
  if (Status status = lacks_workspace(op); !status.ok()) return status;
  const std::int64_t weights = dequantised_bytes(op);
  Operands operands{op.weights, op.x, op.y, op.workspace, 1};
  if (op.type == DType::kFp8) operands.scale = op.x_scale * op.weight_scale;
  if (weights > 0) {
    if (Status status = dequantise(op, target, stream); !status.ok()) return status;
    operands.weights = op.workspace;
    operands.workspace = static_cast<std::byte*>(op.workspace) + weights;
  }
  const Shape shape{op.m,
                    op.n,
                    op.k,
                    library_type(op.type),
                    library_type(op.y_type()),
                    op.workspace_bytes - weights,
                    {lowest_alignment(operands.weights), lowest_alignment(op.x), lowest_alignment(op.y)}};
  return multiply(shape, operands, stream);
}

}  // namespace servecast::kernels::cuda
