#!/usr/bin/env python3
"""Runs the cases of every operator on kernels that are compiled with a sanitizer.

Usage: sanitized_cases.py PROGRAM lazy|eager MOST_FLOPS
"""

import os
import subprocess
import sys

OPERATORS = [
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
]
SEED = "7"
OPTIONS = {"TSAN_OPTIONS": "halt_on_error=1", "ASAN_OPTIONS": "detect_leaks=0"}


def problem_of(program, operator, copies, most_flops):
    command = [program, "cases", operator, "", copies, SEED, most_flops]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | OPTIONS, check=False)
    print(f"{operator}: {done.stdout.splitlines()[-1] if done.stdout else 'nothing ran'}", flush=True)
    if done.returncode != 0 or "Sanitizer" in done.stderr or done.stdout.strip() == "0 cases":
        return f"{operator}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return None


def main(program, copies, most_flops):
    problems = [problem_of(program, operator, copies, most_flops) for operator in OPERATORS]
    print("\n".join(filter(None, problems)) or "nothing found")
    return 1 if any(problems) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
