#!/usr/bin/env python3
"""Runs gpu_check on the CPU with options that choose operators and cases, and reads what it did.

Usage: choices.py GPU_CHECK
"""

import json
import pathlib
import subprocess
import sys
import tempfile

ALL_BUT_TWO = (
    "prefill_attention,decode_attention,latent_decode_attention,naive_attention,append_kv,copy_blocks,gather_blocks,"
    "activation,embedding,grouped_gemm,route_experts,combine_experts,sample,verify_draft"
)


def run(program, *options):
    """Its exit code, and the operators of the cases and the points that it left."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--backend", "cpu", "--smoke", "--budget", "60s", "--out", folder, *options]
        done = subprocess.run(command, timeout=100, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        operators = []
        for name, kind in (("correctness", "case"), ("measurements", "point")):
            file = pathlib.Path(folder) / f"{name}.jsonl"
            lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
            records = [json.loads(line) for line in lines]
            operators.append({record["operator"] for record in records if record["record"] == kind})
    return done.returncode, *operators, done.stderr.decode()


def main(program):
    problems = []

    def expect(options, *wanted):
        code, cases, points, said = run(program, *options)
        if (code, cases, points) != wanted:
            problems.append(f"{options}: exit {code}, cases of {cases}, points of {points}, not {wanted}\n{said}")
        return said

    expect(["--only", "gemm"], 0, {"gemm"}, {"gemm"})
    expect(["--exclude", ALL_BUT_TWO], 0, {"gemm", "rms_norm"}, {"gemm", "rms_norm"})
    expect(["--only", "gemm", "--filter", "no case has this name"], 1, set(), set())
    for option in ("--only", "--exclude"):
        said = expect([option, "nonsense"], 2, set(), set())
        if "no operator 'nonsense'; there are prefill_attention, " not in said:
            problems.append(f"{option} nonsense: {said}")
    print("\n".join(problems) or "all as chosen")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
