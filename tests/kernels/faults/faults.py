"""The faults that planted_faults.py plants: mistakes that one makes when one writes such kernels."""

import dataclasses

KERNELS = "kernels/cuda/"
PREFILL = ("attention/prefill_64.cu",)
DECODE = ("attention/decode_64.cu",)


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    file: str  # below kernels/cuda
    old: str  # stands there exactly once
    new: str
    sources: tuple  # that are compiled with it
    operator: str
    cases: str = ""  # a part of the names of the cases that are run
    far: bool = False  # run with pages beyond 4 GB
    sanitizer: str = ""  # that the sources are compiled with

    def below(self):
        """With paths from the root."""
        sources = tuple(KERNELS + source for source in self.sources)
        return dataclasses.replace(self, file=KERNELS + self.file, sources=sources)


FAULTS = [
    Fault(
        "a missing barrier between the arrival of a tile and its use",
        "attention/kv_pipeline.cuh",
        "__syncthreads();  // the tile is there for all, and nobody uses the one before it any longer",
        "",
        PREFILL,
        "prefill_attention",
        "x 64",
    ),
    Fault(
        "a wait that leaves one group of copies too many under way",
        "attention/kv_pipeline.cuh",
        "wait<kStages - 2>()",
        "wait<kStages - 1>()",
        DECODE,
        "decode_attention",
        "x 64",
    ),
    Fault(
        "a missing barrier between two stages of a product",
        "gemm/streamed.cuh",
        "    __syncthreads();\n    const int ahead",
        "    const int ahead",
        ("gemm/gemm.cu",),
        "gemm",
    ),
    Fault(
        "a missing barrier before the results take the tiles' place, under race detection",
        "attention/decode.cuh",
        "__syncthreads();  // the tiles are done with; the results take their place",
        "",
        DECODE,
        "decode_attention",
        "splits 1 window 41 sequences 1+0",
        sanitizer="thread",
    ),
    Fault(
        "a page found one token too early",
        "attention/paged_kv.cuh",
        "__ldg(table_ + (position >> page_shift_))",
        "__ldg(table_ + ((position + 1) >> page_shift_))",
        DECODE,
        "decode_attention",
        "x 64",
    ),
    Fault(
        "a causal mask one key too far right",
        "attention/prefill.cuh",
        "return key <= position + row && (window",
        "return key <= position + row + 1 && (window",
        PREFILL,
        "prefill_attention",
        "x 64",
    ),
    Fault(
        "a window that is one token too wide",
        "attention/decode.cuh",
        "context + __popcll(seen) - args.window :",
        "context + __popcll(seen) - args.window - 1 :",
        DECODE,
        "decode_attention",
        "x 64",
    ),
    Fault(
        "a tree that is verified as a chain",
        "attention/decode.cuh",
        "args.ancestors != nullptr ? args.ancestors[token]",
        "false ? args.ancestors[token]",
        DECODE,
        "decode_attention",
        "tree",
    ),
    Fault(
        "query heads that read the wrong head of the cache",
        "attention/prefill.cuh",
        "head / (args.heads / args.cache.heads)",
        "head % args.cache.heads",
        PREFILL,
        "prefill_attention",
        "x 64",
    ),
    Fault(
        "splits combined without their scale",
        "attention/partial.cuh",
        "const float factor = fast_exp2(softmax.x - largest);",
        "const float factor = softmax.y > 0.0F ? 1.0F : 0.0F;",
        ("attention/decode.cu",),
        "decode_attention",
        "splits 5",
    ),
    Fault(
        "a running sum that is not rescaled",
        "attention/softmax.cuh",
        "rows.sum[r] * rescale[r] + sum",
        "rows.sum[r] + sum",
        PREFILL,
        "prefill_attention",
        "x 64",
    ),
    Fault(
        "results stored beyond the last row",
        "attention/prefill.cuh",
        "i < min(rows, Shape::kWarpRows) * kRowChunks",
        "i < Shape::kWarpRows * kRowChunks",
        PREFILL,
        "prefill_attention",
        "x 64",
        sanitizer="address",
    ),
    Fault(
        "a block copied one unit too far",
        "common/move_rows.cuh",
        "if (i < moves.units) to[i] = held[j];",
        "if (i <= moves.units) to[i] = held[j];",
        ("kv_cache/kv_cache.cu",),
        "gather_blocks",
    ),
    Fault(
        "an offset into the cache that is cut to 32 bits, in attention",
        "attention/kv_pipeline.cuh",
        "const std::int64_t from = (reads ? rows_.at(first_key + key) : 0) * kRowBytes",
        "const std::int64_t from = static_cast<int>(reads ? rows_.at(first_key + key) : 0) * kRowBytes",
        DECODE,
        "decode_attention",
        "x 64",
        far=True,
    ),
    Fault(
        "an offset into the cache that is cut to 32 bits, where it is written",
        "kv_cache/append_kv.cuh",
        "C* to = cache + row * head_dim;",
        "C* to = cache + static_cast<std::uint32_t>(row * head_dim);",
        ("kv_cache/kv_cache.cu",),
        "append_kv",
        far=True,
    ),
    Fault(
        "an offset of a block that is cut to 32 bits",
        "common/move_rows.cuh",
        "const Unit* from = source + from_row * moves.units;",
        "const Unit* from = source + static_cast<int>(from_row * moves.units);",
        ("kv_cache/kv_cache.cu",),
        "gather_blocks",
        far=True,
    ),
    Fault(
        "a residual that is not added",
        "elementwise/rms_norm.cuh",
        "from_float<T>(x[j] + sum[j])",
        "from_float<T>(x[j])",
        ("elementwise/elementwise.cu",),
        "rms_norm",
    ),
    Fault(
        "rotation that pairs with the other half of the head, not of what rotates",
        "kv_cache/append_kv.cuh",
        "load_floats<T, kCount>(head + half + i, high);",
        "load_floats<T, kCount>(head + head_dim / 2 + i, high);",
        ("kv_cache/kv_cache.cu",),
        "append_kv",
    ),
    Fault(
        "a nucleus whose probabilities are not renormalised",
        "sampling/sample.cuh",
        "const int token = draw(length, rows.uniforms[blockIdx.x], kept_mass, scratch.row);",
        "const Mass whole = sum_row(length, mass, scratch.row);"
        " sum_row(length, kept_mass, scratch.row);"
        " const int token ="
        " find_crossing(length, portion(rows.uniforms[blockIdx.x], whole), kept_mass, scratch.row).index;",
        ("sampling/sampling.cu",),
        "sample",
    ),
    Fault(
        "rows of an expert that begin where the next one's do",
        "experts/route.cuh",
        "earlier += choice < expert ? 1 : 0;",
        "earlier += choice <= expert ? 1 : 0;",
        ("experts/experts.cu",),
        "route_experts",
    ),
    Fault(
        "a group of rows that is multiplied by the next expert's weights",
        "gemm/tile.cuh",
        "return part(group + lane, __shfl_sync(kAllLanes, begin, lane)",
        "return part((group + lane + 1) % product.groups, __shfl_sync(kAllLanes, begin, lane)",
        ("gemm/gemm.cu",),
        "grouped_gemm",
    ),
    Fault(
        "values dequantised with the scales of keys",
        "attention/kv_pipeline.cuh",
        "scales()[kKeys + key]",
        "scales()[key]",
        DECODE,
        "decode_attention",
        "kv int8",
    ),
    Fault(
        "less shared memory asked for than is used",
        "attention/decode_launch.cuh",
        "KvPipeline<Shape>::kSharedBytes, kDecodeRows",
        "KvPipeline<Shape>::kSharedBytes - 1024, kDecodeRows",
        DECODE,
        "decode_attention",
        "x 64",
        sanitizer="address",
    ),
    Fault(
        "draft tokens kept where their probability is too small",
        "sampling/verify_draft.cuh",
        "* draft < target;",
        "* draft < 2 * target;",
        ("sampling/sampling.cu",),
        "verify_draft",
    ),
]
FAULTS = [fault.below() for fault in FAULTS]
