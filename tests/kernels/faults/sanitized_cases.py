#!/usr/bin/env python3
"""Runs the cases of every operator on kernels that are compiled with a sanitizer.

Usage: sanitized_cases.py PROGRAM lazy|eager MOST_FLOPS
"""

import os
import subprocess
import sys

SEED = "7"
OPTIONS = {"TSAN_OPTIONS": "halt_on_error=1", "ASAN_OPTIONS": "detect_leaks=0"}
TIMEOUT = 1800  # seconds for the cases of one operator


def operators_of(program):
    done = subprocess.run([program, "operators"], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.split()


def problem_of(program, operator, copies, most_flops):
    command = [program, "cases", operator, "", copies, SEED, most_flops]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=os.environ | OPTIONS, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        return f"{operator}: it did not end in {TIMEOUT} s"
    print(f"{operator}: {done.stdout.splitlines()[-1] if done.stdout else 'nothing ran'}", flush=True)
    if done.returncode != 0 or "Sanitizer" in done.stderr or done.stdout.strip() == "0 cases":
        return f"{operator}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return None


def main(program, copies, most_flops):
    operators = operators_of(program)
    problems = [problem_of(program, operator, copies, most_flops) for operator in operators]
    print("\n".join(filter(None, problems)) or f"nothing found in {len(operators)} operators")
    return 1 if any(problems) or not operators else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
