// Faults planted in otherwise perfect outputs: the runner and the judgement find each of them.
#include <cstring>
#include <doctest/doctest.h>

#include "kernels/cases/lists.hpp"
#include "kernels/cases/run.hpp"
#include "kernels/emulation/backend.hpp"
#include "tests/kernels/support/reference_backend.hpp"

using namespace servecast::kernels;

namespace {

Case case_of(const Operation& operation, const std::vector<SequenceSpan>& sequences = {}) {
  return Case({std::string(name_of(operation)), operation, sequences, 7});
}

Case norm_case() {
  RmsNorm op;
  op.rows = 5;
  op.width = 100;
  op.adds_residual = true;
  return case_of(op);
}

Case decode_case(DType cache) {
  DecodeAttention op;
  op.heads = 8;
  op.kv.kv_heads = 2;
  op.kv.head_dim = 64;
  op.kv.page_size = 8;
  op.kv.type = cache;
  op.scale = 0.125F;
  return case_of(op, {{1, 60}, {1, 7}, {1, 31}});
}

// Fault of one operator: what is done to it after the outputs were written.
template <class Op>
std::string problem(const Case& subject, const std::function<void(Op&)>& fault) {
  ReferenceBackend backend([&](Operation& operation) { fault(std::get<Op>(operation)); });
  return check(subject, backend).problem;
}

// Answers with the reference to another operation than the one that is launched.
class MistakenBackend final : public Backend {
 public:
  using Mistake = std::function<void(Operation&)>;

  explicit MistakenBackend(Mistake mistake) : mistake_(std::move(mistake)) {}

  [[nodiscard]] const BackendInfo& info() const override { return perfect_.info(); }
  [[nodiscard]] DeviceMemory& memory() override { return perfect_.memory(); }
  Status launch(const Operation& operation, Stream stream) override {
    Operation wrong = operation;
    mistake_(wrong);
    return perfect_.launch(wrong, stream);
  }
  Status synchronize() override { return {}; }
  Status time(const TimingPlan& plan, const std::function<Status(std::int32_t, Stream)>& call,
              std::vector<double>& seconds) override {
    return perfect_.time(plan, call, seconds);
  }

 private:
  ReferenceBackend perfect_;
  Mistake mistake_;
};

// The answer to the same operands read wrongly: `mistake` changes the operation before the reference runs.
template <class Op>
std::string misread(const Case& subject, const std::function<void(Op&)>& mistake) {
  MistakenBackend backend([&](Operation& operation) { mistake(std::get<Op>(operation)); });
  return check(subject, backend).problem;
}

void check_perfect(CaseSet set) {
  for (const CaseShape& shape : case_shapes(set)) {
    const Case subject(shape);
    const Status status = validate(subject.operation());
    CHECK_MESSAGE(status.ok(), status.message());
    ReferenceBackend backend;
    const Verdict verdict = check(subject, backend);
    CHECK_MESSAGE(verdict.ok(), shape.name << ": " << verdict.problem);
  }
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("perfect outputs of every CUDA case pass") { check_perfect(CaseSet::kCuda); }

TEST_CASE("perfect outputs of every sm_75 case pass") { check_perfect(CaseSet::kCuda75); }

TEST_CASE("perfect outputs of every CPU case pass") { check_perfect(CaseSet::kCpu); }

TEST_CASE("memory around operands is guarded") {
  const Case subject = norm_case();
  CHECK(problem<RmsNorm>(subject, [](RmsNorm&) {}).empty());
  const auto after = problem<RmsNorm>(subject, [](RmsNorm& op) { static_cast<std::uint16_t*>(op.out)[500] = 0; });
  CHECK(after == "out: written outside its bounds");
  const auto before = problem<RmsNorm>(subject, [](RmsNorm& op) { static_cast<std::uint16_t*>(op.out)[-1] = 0; });
  CHECK(before == "out: written outside its bounds");
  const auto residual = problem<RmsNorm>(subject, [](RmsNorm& op) { static_cast<char*>(op.residual)[1000] = 0; });
  CHECK(residual == "residual: written outside its bounds");
}

TEST_CASE("inputs must stay as they were") {
  const auto found = problem<RmsNorm>(norm_case(), [](RmsNorm& op) {
    const_cast<std::uint16_t*>(static_cast<const std::uint16_t*>(op.weight))[3] = 0;
  });
  CHECK(found == "weight: an input was written");
}

TEST_CASE("an output that nobody wrote shows as NaN") {
  const Case subject = norm_case();
  const auto found = problem<RmsNorm>(subject, [](RmsNorm& op) { std::memset(op.out, 0xFF, 1000); });
  CHECK(found == "out: NaN in row 0, element 0");
  const auto last =
      problem<RmsNorm>(subject, [](RmsNorm& op) { std::memset(static_cast<char*>(op.out) + 998, 0xFF, 2); });
  CHECK(last == "out: NaN in row 4, element 99");
}

TEST_CASE("attention that reads another page, head or length answers visibly wrong") {
  for (const DType cache : {DType::kBf16, DType::kFp8, DType::kInt8}) {
    const Case subject = decode_case(cache);
    CHECK(misread<DecodeAttention>(subject, [](DecodeAttention&) {}).empty());
    // A page further: the last sequence reads what no sequence owns.
    CHECK_FALSE(misread<DecodeAttention>(subject, [](DecodeAttention& op) { ++op.table.pages; }).empty());
    // A key too many or too few.
    for (const int more : {1, -1}) {
      std::vector<std::int32_t> contexts = {60 + more, 7 + more, 31 + more};
      CHECK_FALSE(
          misread<DecodeAttention>(subject, [&](DecodeAttention& op) { op.contexts = contexts.data(); }).empty());
    }
    // Another scale of the scores, and a window that cuts the oldest keys of the longest sequence.
    CHECK_FALSE(misread<DecodeAttention>(subject, [](DecodeAttention& op) { op.scale *= 1.1F; }).empty());
    CHECK_FALSE(misread<DecodeAttention>(subject, [](DecodeAttention& op) { op.window = 59; }).empty());
  }
}

TEST_CASE("reading behind the end of a sequence gives NaN, in every cache format") {
  for (const DType cache : {DType::kBf16, DType::kFp8, DType::kInt8}) {
    const std::vector<std::int32_t> contexts = {61, 7, 31};  // 62 keys of 61; page 8 has room for 64
    const auto found =
        misread<DecodeAttention>(decode_case(cache), [&](DecodeAttention& op) { op.contexts = contexts.data(); });
    CHECK_MESSAGE(contains(found, "NaN in row 0"), found);
  }
}

TEST_CASE("a wrong key-value head shows in the heads that read it") {
  const Case subject = decode_case(DType::kBf16);
  const auto found = problem<DecodeAttention>(subject, [](DecodeAttention& op) {
    // Query head 4 gets the answer that belongs to head 3 of its sequence.
    auto* out = static_cast<std::uint16_t*>(op.out);
    std::memcpy(out + 4 * 64, out + 3 * 64, 128);
  });
  CHECK(contains(found, "out: relative error"));
}

TEST_CASE("a cache write to a wrong slot is found, and so is one that is missing") {
  AppendKv op;
  op.tokens = 5;
  op.heads = 2;
  op.kv.kv_heads = 2;
  op.kv.head_dim = 64;
  op.kv.pages = 3;
  op.kv.page_size = 8;
  for (const DType cache : {DType::kBf16, DType::kInt8}) {
    op.kv.type = cache;
    const Case subject = case_of(op);
    std::vector<std::int64_t> slots;
    CHECK(misread<AppendKv>(subject, [](AppendKv&) {}).empty());
    const auto moved = misread<AppendKv>(subject, [&](AppendKv& wrong) {
      slots.assign(wrong.slots, wrong.slots + 5);
      slots[1] = (slots[1] + 9) % 24;
      wrong.slots = slots.data();
    });
    CHECK_FALSE(moved.empty());
    const auto missing = misread<AppendKv>(subject, [&](AppendKv& wrong) {
      slots.assign(wrong.slots, wrong.slots + 5);
      slots[1] = -1;
      wrong.slots = slots.data();
    });
    CHECK_MESSAGE(contains(missing, "keys: NaN in row"), missing);
    const auto padded = misread<AppendKv>(subject, [&](AppendKv& wrong) {
      slots.assign(wrong.slots, wrong.slots + 5);
      slots[4] = (slots[3] + 1) % 24;  // a token of padding, written
      wrong.slots = slots.data();
    });
    CHECK_MESSAGE(contains(padded, "written where it must stay as it was"), padded);
  }
}

TEST_CASE("a cache scale that is off is found") {
  AppendKv op;
  op.tokens = 5;
  op.kv.head_dim = 64;
  op.kv.pages = 2;
  op.kv.type = DType::kInt8;
  const auto found = problem<AppendKv>(case_of(op), [](AppendKv& wrong) {
    for (int i = 0; i < 32; ++i) wrong.kv.value_scales[i] *= 1.05F;
  });
  CHECK(contains(found, "values: relative error"));
}

TEST_CASE("an expert's row that goes to a neighbour is found") {
  GroupedGemm op;
  op.groups = 4;
  op.rows = op.x_rows = 40;
  op.n = 16;
  op.k = 64;
  const Case subject = case_of(op);
  std::vector<std::int32_t> offsets;
  const auto found = misread<GroupedGemm>(subject, [&](GroupedGemm& wrong) {
    offsets.assign(wrong.offsets, wrong.offsets + 5);
    ++offsets[2];
    wrong.offsets = offsets.data();
  });
  CHECK_FALSE(found.empty());
}

TEST_CASE("a token drawn with another uniform, cut or temperature is found") {
  Sample op;
  op.rows = 64;
  op.vocabulary = 300;
  op.temperature = 1;
  op.top_k = 20;
  op.top_p = 0.8F;
  const Case subject = case_of(op);
  CHECK(misread<Sample>(subject, [](Sample&) {}).empty());
  CHECK_FALSE(misread<Sample>(subject, [](Sample& wrong) { ++wrong.uniforms; }).empty());
  CHECK_FALSE(misread<Sample>(subject, [](Sample& wrong) { wrong.top_k = 3; }).empty());
  CHECK_FALSE(misread<Sample>(subject, [](Sample& wrong) { wrong.top_p = 0.7F; }).empty());
  CHECK_FALSE(misread<Sample>(subject, [](Sample& wrong) { wrong.temperature = 0.8F; }).empty());
}

TEST_CASE("what a back end refuses is the verdict") {
  EmulationOptions options;
  options.emulator.architecture = 75;
  const auto backend = make_emulated_backend(options);
  CHECK(check(norm_case(), *backend).problem == "bf16 needs sm_80 or later; sm_75 has fp16");
}

TEST_CASE("memory that a back end lacks is the verdict, and what was taken goes back") {
  constexpr std::int64_t kBytes = 4000;  // the first two operands and their guards
  EmulationOptions options;
  options.memory_bytes = kBytes;
  const auto backend = make_emulated_backend(options);
  CHECK(contains(check(norm_case(), *backend).problem, "there is not enough memory for "));
  void* const all = backend->memory().allocate(kBytes);
  CHECK(all != nullptr);
  backend->memory().release(all);
}

TEST_CASE("each copy of a placed case answers by itself, and their memory goes back") {
  const Case subject = norm_case();
  ReferenceBackend backend;
  {
    PlacedCase placed(subject, backend);
    REQUIRE(placed.place({3, 0}).ok());
    CHECK(placed.copies() == 3);
    CHECK(backend.memory().live == 3 * 4);
    for (int call = 0; call < 5; ++call) CHECK(placed.launch(call, nullptr).ok());
    Outcome outcome;
    REQUIRE(placed.fetch(2, outcome).ok());
    CHECK(judge(subject, reference(subject.operation()), outcome).ok());
  }
  CHECK(backend.memory().live == 0);
}

TEST_CASE("equal shapes give equal cases, byte for byte, and other seeds give others") {
  for (const CaseShape& shape : case_shapes(CaseSet::kCuda, "decode_attention")) {
    const Case one(shape);
    const Case two(shape);
    CaseShape other = shape;
    ++other.seed;
    const Case three(other);
    REQUIRE(one.operands().size() == two.operands().size());
    bool differs = false;
    for (std::size_t i = 0; i < one.operands().size(); ++i) {
      CHECK(one.operands()[i].bytes == two.operands()[i].bytes);
      differs |= one.operands()[i].bytes != three.operands()[i].bytes;
    }
    CHECK(differs);
  }
}
