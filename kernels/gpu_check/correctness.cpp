#include <algorithm>
#include <utility>

#include "kernels/cases/run.hpp"
#include "kernels/gpu_check/library_cases.hpp"
#include "kernels/gpu_check/session.hpp"

namespace servecast::kernels::gpu_check {
namespace {

constexpr std::size_t kSmokeCases = 3;         // of each operator
constexpr std::size_t kSmokeLibraryCases = 5;  // at least one of each kind
constexpr std::int64_t kSampledRows = 48;

// A machine without cuBLASLt measures none of its products either.
bool is_absent(const CaseShape& shape, const Status& status) {
  const Gemm* gemm = std::get_if<Gemm>(&shape.operation);
  const bool library = gemm != nullptr && gemm->method == GemmMethod::kLibrary;
  return library && status.code() == Status::Code::kUnsupported;
}

JsonObject absence_of(const CaseShape& shape, const Status& status) {
  JsonObject record;
  record.add("record", "absent").add("operator", name_of(shape.operation)).add("case", shape.name);
  return record.add("problem", status.message());
}

JsonObject record_of(const CaseShape& shape, const Verdict& verdict) {
  JsonObject record;
  record.add("record", "case").add("operator", name_of(shape.operation)).add("case", shape.name);
  record.add("ok", verdict.ok()).add("error", verdict.error).add("bound", bound_of(shape.operation));
  record.add("worst_row", verdict.worst_row).add("worst_element", verdict.worst_element);
  if (!verdict.ok()) record.add("problem", verdict.problem);
  return record;
}

Verdict verdict_of(const Case& subject, const Status& status, const Outcome& outcome, const RowSample& sample) {
  if (status.ok()) return judge(subject, reference(subject.operation(), sample), outcome);
  Verdict verdict;
  verdict.problem = status.message();
  return verdict;
}

// Checks case after case while there is time, the first one in any case, and says in the end what there was none for.
PhaseResult check_all(const Session& session, const std::vector<CaseShape>& shapes, const RowSample& sample) {
  PhaseResult result;
  if (shapes.empty()) result.lack = Lack::kWork;
  if (shapes.empty()) return result;
  std::vector<JsonObject> records;
  std::size_t checked = 0;
  const auto goes_on = [&] { return checked == 0 || (!session.deadline.passed() && result.status.ok()); };
  for (; checked < shapes.size() && goes_on(); ++checked) {
    const Case subject(shapes[checked]);
    Outcome outcome;
    const Status status = run(subject, session.backend(), {}, outcome);
    if (is_absent(shapes[checked], status)) {
      records.push_back(absence_of(shapes[checked], status));
    } else {
      const Verdict verdict = verdict_of(subject, status, outcome, sample);
      if (!verdict.ok()) ++result.failed;
      records.push_back(record_of(shapes[checked], verdict));
    }
    result.status = session.write(records);
  }
  JsonObject summary;
  summary.add("record", "cases").add("operator", session.options.only.empty() ? "all" : session.options.only);
  summary.add("checked", checked).add("failed", result.failed).add("not_reached", shapes.size() - checked);
  records.push_back(summary);
  result.complete = checked == shapes.size();
  if (result.status.ok()) result.status = session.write(records);
  return result;
}

// Spread over the list, which goes through the levels in order.
std::vector<CaseShape> thinned(const std::vector<CaseShape>& shapes, std::size_t count) {
  if (shapes.size() <= count) return shapes;
  std::vector<CaseShape> chosen;
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(shapes[i * shapes.size() / count]);
  return chosen;
}

CaseShape shape_of(std::string name, const Operation& operation, std::vector<SequenceSpan> sequences) {
  return {std::move(name), operation, std::move(sequences), 1};
}

PagedKv cache_of(DType type, std::int32_t head_dim) {
  PagedKv kv;
  kv.type = type;
  kv.kv_heads = 8;
  kv.head_dim = head_dim;
  return kv;
}

// As the target model decodes: 32 heads in 8 groups.
CaseShape large_decode(std::string name, DType type, DType cache, std::int32_t count, std::int32_t context) {
  DecodeAttention op;
  op.type = type;
  op.heads = 32;
  op.scale = 0.088388F;  // 1 / √128
  op.kv = cache_of(cache, 128);
  return shape_of(std::move(name), op, std::vector<SequenceSpan>(static_cast<std::size_t>(count), {1, context}));
}

CaseShape large_prefill(DType type) {
  PrefillAttention op;
  op.type = type;
  op.heads = 32;
  op.scale = 0.088388F;
  op.kv = cache_of(type, 128);
  return shape_of("prefill of 8192 tokens behind 24576", op, {{8192, 24576}});
}

CaseShape large_gemm(std::string name, DType type, GemmMethod method) {
  Gemm op;
  op.method = method;
  op.type = type;
  op.weight_type = type;
  op.m = 8192;
  op.n = 8192;
  op.k = 8192;
  if (type == DType::kFp8) op.x_scale = op.weight_scale = 0.02F;
  if (method == GemmMethod::kLibrary) op.workspace_bytes = std::int64_t{32} << 20U;
  return shape_of(std::move(name), op, {});
}

CaseShape large_gather() {
  GatherBlocks op;
  op.count = 1024;
  op.blocks = 80000;
  op.block_bytes = 65536;  // a cache of 5.2 GB
  return shape_of("gather 67 MB out of 5.2 GB", op, {});
}

std::vector<CaseShape> large_shapes(const PlanTarget& target) {
  const DType type = target.type;
  std::vector<CaseShape> shapes{large_decode("decode over 1.1 GB of keys and values", type, type, 64, 4096),
                                large_gemm("8192³ by the library", type, GemmMethod::kLibrary),
                                large_gemm("8192³ by our kernel", type, GemmMethod::kOwn),
                                large_prefill(type),
                                large_gather(),
                                large_decode("decode over 10.7 GB of keys and values", type, type, 160, 16384)};
  if (target.quantised) {
    shapes.push_back(large_gemm("8192³ by the library, fp8", DType::kFp8, GemmMethod::kLibrary));
    shapes.push_back(large_decode("decode over 1.1 GB in fp8", type, DType::kFp8, 64, 8192));
  }
  return shapes;
}

}  // namespace

PhaseResult run_correctness(const Session& session) {
  std::vector<CaseShape> shapes = case_shapes(session.case_set());
  std::vector<CaseShape> library;
  if (session.device.is_gpu()) library = library_cases(session.backend().info().architecture);
  const auto unwanted = [&](const CaseShape& shape) {
    return !session.wants(shape.operation) || shape.name.find(session.options.filter) == std::string::npos;
  };
  std::erase_if(shapes, unwanted);
  std::erase_if(library, unwanted);
  if (session.options.smoke) shapes = thinned(shapes, kSmokeCases);
  if (session.options.smoke) library = thinned(library, kSmokeLibraryCases);
  shapes.insert(shapes.end(), library.begin(), library.end());
  return check_all(session, shapes, {});
}

PhaseResult run_large(const Session& session) {
  PhaseResult nothing;
  nothing.lack = session.device.is_gpu() ? Lack::kWork : Lack::kGpu;
  if (!session.device.is_gpu() || session.options.smoke) return nothing;
  std::vector<CaseShape> shapes = large_shapes(session.plan_target());
  std::erase_if(shapes, [&](const CaseShape& shape) { return !session.wants(shape.operation); });
  return check_all(session, shapes, {kSampledRows, 1});
}

}  // namespace servecast::kernels::gpu_check
