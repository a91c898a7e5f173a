// What goes into the operands of a case, operator by operator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/cases/case.hpp"
#include "kernels/cases/random.hpp"

namespace servecast::kernels {

// The operands of one case by name. Names are those of for_each_buffer.
class Inputs {
 public:
  Inputs(std::vector<Operand>& operands, Random& random) : operands_(&operands), random_(&random) {}

  [[nodiscard]] Random& random() const { return *random_; }
  [[nodiscard]] Operand& operand(std::string_view name) const;
  // Empty where the shape does not have it. Requires the operand to be an array of T.
  template <class T>
  [[nodiscard]] std::span<T> of(std::string_view name) const {
    Operand& found = operand(name);
    return {reinterpret_cast<T*>(found.bytes.data()), found.bytes.size() / sizeof(T)};
  }
  void normal(std::string_view name, double mean, double deviation) const;
  void uniform(std::string_view name, double least, double most) const;  // f32 only

 private:
  std::vector<Operand>* operands_;
  Random* random_;
};

// Sizes that follow from the sequences: pages and the width of the block table.
void complete(PrefillAttention& op);
void complete(DecodeAttention& op);
void complete(LatentDecodeAttention& op);

// Every input is already random with deviation 1; these draw what needs more than that.
void draw(const PrefillAttention& op, const Inputs& inputs);
void draw(const DecodeAttention& op, const Inputs& inputs);
void draw(const LatentDecodeAttention& op, const Inputs& inputs);
void draw(const NaiveAttention& op, const Inputs& inputs);
void draw(const AppendKv& op, const Inputs& inputs);
void draw(const CopyBlocks& op, const Inputs& inputs);
void draw(const GatherBlocks& op, const Inputs& inputs);
void draw(const RmsNorm& op, const Inputs& inputs);
void draw(const Activation& op, const Inputs& inputs);
void draw(const Embedding& op, const Inputs& inputs);
void draw(const Gemm& op, const Inputs& inputs);
void draw(const GroupedGemm& op, const Inputs& inputs);
void draw(const RouteExperts& op, const Inputs& inputs);
void draw(const CombineExperts& op, const Inputs& inputs);
void draw(const Sample& op, const Inputs& inputs);
void draw(const VerifyDraft& op, const Inputs& inputs);

}  // namespace servecast::kernels
