#!/usr/bin/env python3
"""Runs gpu_check whole, small and without a GPU, and reads what it wrote.

Usage: smoke.py GPU_CHECK BACKEND
"""

import json
import pathlib
import subprocess
import sys
import tempfile

OPERATORS = {
    "prefill_attention",
    "decode_attention",
    "latent_decode_attention",
    "naive_attention",
    "append_kv",
    "copy_blocks",
    "gather_blocks",
    "rms_norm",
    "activation",
    "embedding",
    "gemm",
    "grouped_gemm",
    "route_experts",
    "combine_experts",
    "sample",
    "verify_draft",
}
POINT = {"operator", "group", "held_out", "median_s", "min_s", "noise", "samples", "calls", "cold", "flops", "bytes"}


def lines_of(file):
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def correctness_problems(records):
    cases = [record for record in records if record["record"] == "case"]
    wrong = [case["case"] + ": " + case["problem"] for case in cases if not case["ok"]]
    absent = OPERATORS - {case["operator"] for case in cases}
    return wrong + [f"no case of {name}" for name in sorted(absent)]


def measurement_problems(records):
    if records[0]["format"] != "servecast-measurements":
        return ["measurements.jsonl does not begin with its header"]
    points = [record for record in records if record["record"] == "point"]
    found = [f"{point['operator']}: {point['problem']}" for point in points if "problem" in point]
    found += [f"{point['operator']} lacks {POINT - set(point)}" for point in points if not POINT <= set(point)]
    parts = [part["operator"] for point in points for part in point.get("parts", [])]
    measured = {point["operator"] for point in points} | set(parts)
    found += [f"{name} is not measured" for name in sorted(OPERATORS - measured)]
    if not any(point["held_out"] and point["operator"] == "step" for point in points):
        found.append("no whole step is measured")
    return found


def report_problems(report):
    ended = [(phase["phase"], phase["outcome"], phase["ended"]) for phase in report["phases"]]
    expected = {(name, "passed", "exit 0") for name in ("probe", "correctness", "ceilings", "measure", "graphs")}
    expected.add(("large", "skipped", "nothing to do without a GPU"))
    found = [f"no phase ended so: {wanted}" for wanted in sorted(expected - set(ended))]
    return found + [f"a phase ended so: {end}" for end in ended if end not in expected]


def main(program, backend):
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--backend", backend, "--smoke", "--budget", "100s", "--out", folder]
        done = subprocess.run(command, timeout=115, check=False)
        out = pathlib.Path(folder)
        problems = [f"exit {done.returncode}"] if done.returncode else []
        problems += correctness_problems(lines_of(out / "correctness.jsonl"))
        problems += measurement_problems(lines_of(out / "measurements.jsonl"))
        problems += report_problems(json.loads((out / "report.json").read_text(encoding="utf-8")))
        files = sorted(file.name for file in out.iterdir())
        if files != ["correctness.jsonl", "measurements.jsonl", "report.json", "report.md"]:
            problems.append(f"files: {files}")
    print("\n".join(problems) or "all there")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
