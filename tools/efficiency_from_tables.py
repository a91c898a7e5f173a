#!/usr/bin/env python3
"""Fits the efficiency constants of costmodel/efficiency.cpp to public kernel measurements.

Usage: efficiency_from_tables.py [DIRECTORY]   (default: ../shared/data/profiles beside the repository)

DIRECTORY holds, as CSV,
  aiconfigurator/SYSTEM/   GEMM, attention and all-reduce times of NVIDIA AIConfigurator (Apache-2.0)
  vidur/                   element-wise times of microsoft/vidur (MIT)
  llmservingsim_vllm019/   element-wise times of casys-kaist/LLMServingSim (MIT)
Prints one line a device and kernel family: the constants, rounded to two digits, and the error that is left
with the rounded constants. The form of each family is that of costmodel/roofline.cpp:
  sum   t = launch + compute + memory
  root  t = launch + sqrt(compute^2 + memory^2 + rows^2)
with compute = FLOPs / (peak * c), memory = bytes / (bandwidth * m), rows = sequences * kv heads * r.
The loss is a robust one on log(predicted / measured), since errors of a step are relative.
"""
import csv
import math
import os
import sys

# Peak dense bf16 FLOP/s, bytes/s and last-level cache bytes, from the vendors' datasheets.
DEVICES = {
    "h100_sxm": (989.4e12, 3.35e12, 50e6),
    "h200_sxm": (989.4e12, 4.8e12, 50e6),
    "a100_sxm": (312e12, 2.039e12, 40e6),
    "l40s": (362.05e12, 864e9, 96e6),
    "rtx_pro_6000_server": (467.8e12, 1.792e12, 128e6),
}
MAX_POINTS = 1200
HEAD_DIM = 128


class Point:
    def __init__(self, compute, memory, rows, seconds):
        self.compute, self.memory, self.rows, self.seconds = compute, memory, rows, seconds


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def thin(points):
    step = max(1, len(points) // MAX_POINTS)
    return points[::step]


def cold(point, moved_bytes, cache):
    """False where a benchmark may have found its operands in the cache, which an engine never does."""
    return moved_bytes > 2 * cache or point.memory < 0.1 * point.seconds


def predict(form, launch, compute, memory, rows, point):
    c, m, r = point.compute / compute, point.memory / memory, point.rows * rows
    return launch + (c + m + r if form == "sum" else math.sqrt(c * c + m * m + r * r))


def nelder_mead(loss, start, step, rounds):
    size = len(start)
    simplex = [start] + [[x + (step if i == j else 0) for j, x in enumerate(start)] for i in range(size)]
    ranked = sorted((loss(x), x) for x in simplex)
    for _ in range(rounds):
        worst = ranked[-1][1]
        centre = [sum(x[j] for _, x in ranked[:-1]) / size for j in range(size)]
        along = lambda t: [c + t * (w - c) for c, w in zip(centre, worst)]
        tries = [(loss(x), x) for x in (along(-1),)]
        if tries[0][0] < ranked[0][0]:
            tries.append((loss(along(-2)), along(-2)))
        elif tries[0][0] >= ranked[-2][0]:
            tries.append((loss(along(0.5)), along(0.5)))
        best = min(tries)
        if best[0] < ranked[-1][0]:
            ranked[-1] = best
        else:
            near = ranked[0][1]
            moved = [[(a + b) / 2 for a, b in zip(x, near)] for _, x in ranked[1:]]
            ranked = [ranked[0]] + [(loss(x), x) for x in moved]
        ranked.sort()
    return ranked[0][1]


def two_digits(value):
    return float(f"{value:.1e}")


def errors(form, constants, points):
    relative = sorted(abs(predict(form, *constants, p) / p.seconds - 1) for p in points)
    count = len(relative)
    return f"median {relative[count // 2]:.1%} mean {sum(relative) / count:.1%} p90 {relative[count * 9 // 10]:.1%}"


def fit(title, form, points, compute=None, launch=None, with_rows=False):
    """`compute` and `launch` are held where given."""
    points = thin(points)
    fixed_compute, fixed_launch = compute, launch

    def constants(x):
        return (fixed_launch or math.exp(x[0]), fixed_compute or math.exp(x[2]), math.exp(x[1]),
                math.exp(x[-1]) if with_rows else 0)

    def loss(x):
        launch, compute, memory, rows = constants(x)
        above_peak = max(0, compute - 1) + max(0, memory - 1)  # a fraction above one would beat the roofline
        total = 1e4 * above_peak
        for p in points:
            off = math.log(predict(form, launch, compute, memory, rows, p) / p.seconds)
            total += math.sqrt(1 + (off / 0.1) ** 2) - 1
        return total

    start = [math.log(6e-6), -0.3] + ([] if fixed_compute else [-0.3]) + ([math.log(3e-8)] if with_rows else [])
    best = nelder_mead(loss, nelder_mead(loss, start, 0.4, 250), 0.1, 150)
    launch, compute, memory, rows = (two_digits(v) for v in constants(best))
    line = f"{title}: launch {launch * 1e6:.2g} us, compute {compute:.2g}, memory {memory:.2g}"
    line += f", row {rows * 1e9:.2g} ns" if with_rows else ""
    print(f"{line}; {form}; error {errors(form, (launch, compute, memory, rows), points)}; {len(points)} points", flush=True)
    return compute


def gemm_launch(directory, device):
    """Time of a GEMM with next to no work, median."""
    rows = read(f"{directory}/aiconfigurator/{device}/gemm_bf16.csv")
    tiny = sorted(float(r["latency_ms"]) for r in rows if int(r["m"]) <= 16 and int(r["n"]) <= 256 and int(r["k"]) <= 256)
    return tiny[len(tiny) // 2] * 1e-3


def gemm_points(directory, device):
    peak, bandwidth, cache = DEVICES[device]
    for row in read(f"{directory}/aiconfigurator/{device}/gemm_bf16.csv"):
        m, n, k = int(row["m"]), int(row["n"]), int(row["k"])
        if not (1024 <= n <= 65536 and 1024 <= k <= 16384):
            continue  # narrower than any projection of a language model
        moved = 2 * (m * k + n * k + m * n)
        point = Point(2 * m * n * k / peak, moved / bandwidth, 0, float(row["latency_ms"]) * 1e-3)
        if cold(point, moved, cache):
            yield point


def prefill_points(directory, device):
    peak, bandwidth, cache = DEVICES[device]
    for row in read(f"{directory}/aiconfigurator/{device}/context_attention_bf16_hd128.csv"):
        batch, tokens, heads, kv = (int(row[c]) for c in ("batch_size", "isl", "num_heads", "num_kv_heads"))
        if heads < 8 or tokens < 16 or batch * tokens > 131072:
            continue
        flops = 4 * heads * HEAD_DIM * batch * tokens * (tokens + 1) / 2
        moved = 2 * HEAD_DIM * batch * tokens * (2 * heads + 2 * kv)
        point = Point(flops / peak, moved / bandwidth, 0, float(row["latency_ms"]) * 1e-3)
        if cold(point, moved, cache):
            yield point


def decode_points(directory, device):
    peak, bandwidth, cache = DEVICES[device]
    for row in read(f"{directory}/aiconfigurator/{device}/generation_attention_bf16_hd128.csv"):
        batch, step, heads, kv = (int(row[c]) for c in ("batch_size", "step", "num_heads", "num_kv_heads"))
        context = step + 1
        if heads < 8 or batch > 1024:
            continue
        flops = 4 * heads * HEAD_DIM * batch * context
        moved = 2 * HEAD_DIM * batch * (context * 2 * kv + 2 * heads)
        point = Point(flops / peak, moved / bandwidth, batch * kv, float(row["latency_ms"]) * 1e-3)
        if cold(point, moved, cache):
            yield point


def expert_points(directory, device):
    """Balanced routing, experts touched = E * (1 - (1 - k/E)^tokens)."""
    peak, bandwidth, cache = DEVICES[device]
    for row in read(f"{directory}/aiconfigurator/{device}/moe_selected_shapes.csv"):
        if row["moe_dtype"] != "bfloat16" or row["distribution"] != "balanced" or int(row["moe_ep"]) != 1:
            continue
        tokens, hidden, top, experts = (int(row[c]) for c in ("num_tokens", "hidden_size", "topk", "num_experts"))
        width = int(row["inter_size"]) / int(row["moe_tp"])
        touched = experts * (1 - (1 - top / experts) ** tokens)
        moved = 2 * (3 * hidden * width * touched + tokens * (hidden * 2 + top * (hidden + 3 * width)))
        point = Point(6 * tokens * top * hidden * width / peak, moved / bandwidth, 0, float(row["latency_ms"]) * 1e-3)
        if cold(point, moved, cache):
            yield point


def all_reduce_points(directory, device, bandwidth, wanted):
    """Ring traffic per device; the smallest message is the link's latency, which the device sheet holds."""
    rows = read(f"{directory}/aiconfigurator/{device}/vllm_custom_allreduce.csv")
    for row in rows:
        ranks, size = int(row["num_gpus"]), 2 * int(row["message_elements"])
        if "graph" in row["kernel"] and ranks == wanted and size <= 128e6:
            yield Point(0, 2 * (ranks - 1) / ranks * size / bandwidth, 0, float(row["latency_ms"]) * 1e-3)


def vidur_elementwise(directory, file, bandwidth):
    for row in read(f"{directory}/vidur/{file}"):
        tokens, hidden = int(row["num_tokens"]), int(row["n_embd"])
        width = int(row["n_expanded_embd"]) // int(row["num_tensor_parallel_workers"])
        for column, elements in (("input_layernorm", 2 * hidden), ("mlp_act", 3 * width)):
            value = row.get(f"time_stats.{column}.median") or ""
            if value:
                yield Point(0, 2 * tokens * elements / bandwidth, 0, float(value) * 1e-3)


LLAMA_8B = {"qkv_proj": (4096, 6144), "o_proj": (4096, 4096), "gate_up_proj": (4096, 28672), "down_proj": (14336, 4096)}


def engine_rows(directory, folder, file):
    return read(f"{directory}/llmservingsim_vllm019/{folder}/meta-llama/Llama-3.1-8B/bf16/tp1/{file}.csv")


def engine_elementwise(directory, folder, bandwidth):
    """A norm reads and writes the residual stream once; what the kernel before it wrote is still in the cache."""
    elements = {"layernorm": 2 * 4096, "act_fn": 3 * 14336}
    for row in engine_rows(directory, folder, "dense"):
        if row["layer"] in elements:
            moved = 2 * int(row["tokens"]) * elements[row["layer"]]
            yield Point(0, moved / bandwidth, 0, float(row["time_us"]) * 1e-6)


def engine_gemm(directory, folder, peak, bandwidth):
    for row in engine_rows(directory, folder, "dense"):
        if row["layer"] in LLAMA_8B:
            tokens, (k, n) = int(row["tokens"]), LLAMA_8B[row["layer"]]
            moved = 2 * (n * k + tokens * (n + k))
            yield Point(2 * tokens * n * k / peak, moved / bandwidth, 0, float(row["time_us"]) * 1e-6)


def engine_attention(directory, folder, peak, bandwidth, prefill):
    for row in engine_rows(directory, folder, "attention"):
        chunk, before, batch, context = (int(row[c]) for c in ("prefill_chunk", "kv_prefill", "n_decode", "kv_decode"))
        seconds = float(row["time_us"]) * 1e-6
        if prefill and chunk > 0 and batch == 0:
            flops = 4 * 32 * HEAD_DIM * (chunk * before + chunk * (chunk + 1) / 2)
            moved = 2 * HEAD_DIM * (64 * chunk + 16 * (before + chunk))
            yield Point(flops / peak, moved / bandwidth, 0, seconds)
        elif not prefill and chunk == 0 and batch > 0:
            moved = 2 * HEAD_DIM * batch * (16 * context + 64)
            yield Point(4 * 32 * HEAD_DIM * batch * context / peak, moved / bandwidth, 8 * batch, seconds)


def fit_engine_tables(directory):
    """Times taken inside vLLM 0.19 while it ran Llama-3.1-8B, so with cold weights."""
    for folder, peak, bandwidth in (("RTX4090", 165.2e12, 1.008e12), ("RTXPRO6000", 467.8e12, 1.792e12)):
        fit(f"{folder} GEMM", "root", list(engine_gemm(directory, folder, peak, bandwidth)))
        compute = fit(f"{folder} prefill attention", "sum", list(engine_attention(directory, folder, peak, bandwidth, True)))
        decode = list(engine_attention(directory, folder, peak, bandwidth, False))
        fit(f"{folder} decode attention", "root", decode, compute, with_rows=True)
        fit(f"{folder} element-wise", "sum", list(engine_elementwise(directory, folder, bandwidth)), 1.0)


def beats_peak(points):
    return sum(1 for p in points if max(p.compute, p.memory) > 1.1 * p.seconds)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    directory = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../../shared/data/profiles")
    for device in DEVICES:
        prefill = list(prefill_points(directory, device))
        usable = beats_peak(prefill) < 0.02 * len(prefill)
        if usable:
            compute = fit(f"{device} prefill attention", "sum", prefill)
        else:
            print(f"{device} prefill attention: rejected, {beats_peak(prefill)} of {len(prefill)} points beat the peak")
            compute = 0.7
        launch = gemm_launch(directory, device)
        fit(f"{device} GEMM", "root", list(gemm_points(directory, device)), launch=launch)
        fit(f"{device} decode attention", "root", list(decode_points(directory, device)), compute, with_rows=True)
    fit("h200_sxm experts", "root", list(expert_points(directory, "h200_sxm")))
    for device, bandwidth in (("h100_sxm", 450e9), ("h200_sxm", 450e9), ("a100_sxm", 300e9), ("l40s", 32e9),
                              ("rtx_pro_6000_server", 64e9)):
        for ranks in (2, 4, 8):
            points = list(all_reduce_points(directory, device, bandwidth, ranks))
            if points:
                fit(f"{device} all-reduce {ranks}", "sum", points, 1.0)
    fit_engine_tables(directory)
    for device, file, bandwidth in (("h100", "h100_Llama-2-70b-hf_mlp.csv", 3.35e12),
                                    ("a100", "a100_Meta-Llama-3-8B_mlp.csv", 2.039e12)):
        fit(f"{device} element-wise", "sum", list(vidur_elementwise(directory, file, bandwidth)), 1.0)


if __name__ == "__main__":
    main()
