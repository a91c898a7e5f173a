// The functions of cuBLASLt that we call, found at run time. Their types are the header's.
#pragma once

#include <cublasLt.h>

#include "kernels/status.hpp"

namespace servecast::kernels::cuda {

// The calls and attributes used here are the same in versions 12 and 13.
struct CublasLt {
  cublasLtHandle_t handle = nullptr;
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtGetStatusString) status_string = nullptr;
  decltype(&cublasLtMatmul) multiply = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmulDescCreate) create_operation = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_operation = nullptr;
  decltype(&cublasLtMatmulDescDestroy) destroy_operation = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) create_layout = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference = nullptr;

  [[nodiscard]] Status status_of(cublasStatus_t status, const char* call) const;
};

// The library with its handle, loaded by the first call; the others get the same answer.
Status load_cublaslt(const CublasLt*& library);

}  // namespace servecast::kernels::cuda
