#include "costmodel/dtype.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace servecast {
namespace {

constexpr std::array<std::pair<std::string_view, DType>, 8> kNames{{{"fp32", DType::kFp32},
                                                                    {"bf16", DType::kBf16},
                                                                    {"fp16", DType::kFp16},
                                                                    {"fp8", DType::kFp8},
                                                                    {"int8", DType::kInt8},
                                                                    {"int4", DType::kInt4},
                                                                    {"mxfp4", DType::kMxfp4},
                                                                    {"kivi2", DType::kKivi2}}};

constexpr std::array<std::pair<std::string_view, DType>, 3> kLongNames{
    {{"float32", DType::kFp32}, {"bfloat16", DType::kBf16}, {"float16", DType::kFp16}}};

}  // namespace

std::string_view dtype_name(DType type) {
  for (const auto& [name, value] : kNames) {
    if (value == type) return name;
  }
  return "?";
}

DType parse_dtype(std::string_view text, const InputPlace& place) {
  for (const auto& [name, value] : kNames) {
    if (name == text) return value;
  }
  for (const auto& [name, value] : kLongNames) {
    if (name == text) return value;
  }
  std::vector<std::string> known;
  for (const auto& [name, value] : kNames) known.emplace_back(name);
  throw InputError(place, "unknown number format '" + std::string(text) + "'", suggest(text, known));
}

}  // namespace servecast
