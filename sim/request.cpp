#include "sim/request.hpp"

namespace servecast {

const char* name(Cause cause) {
  switch (cause) {
    case Cause::kBoundary:
      return "step_boundary";
    case Cause::kSlot:
      return "wait_slot";
    case Cause::kBudget:
      return "wait_budget";
    case Cause::kMemory:
      return "wait_memory";
    case Cause::kPrefill:
      return "prefill";
    case Cause::kIdle:
      return "idle";
    case Cause::kDecode:
      return "decode";
    case Cause::kStalled:
      return "stalled";
    case Cause::kPreempted:
      return "preempted";
    case Cause::kRecompute:
      return "recompute";
    case Cause::kHost:
      return "host";
    case Cause::kTransferWait:
      return "wait_transfer";
    case Cause::kTransfer:
      return "transfer";
    case Cause::kDecodeWait:
      return "wait_decode";
    case Cause::kClient:
      return "client";
    case Cause::kCount:
      break;
  }
  return "none";
}

const char* name(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      return "";
    case Refusal::kModelLength:
      return "model_length";
    case Refusal::kCache:
      return "cache";
    case Refusal::kReservation:
      return "reservation";
    case Refusal::kTokenBudget:
      return "token_budget";
    case Refusal::kSwapSpace:
      return "swap_space";
  }
  return "";
}

}  // namespace servecast
