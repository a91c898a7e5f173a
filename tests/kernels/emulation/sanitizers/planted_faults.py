#!/usr/bin/env python3
"""Runs each kernel of faults.cu under a sanitizer: planted faults are found at their lines, right kernels pass.

Usage: planted_faults.py address|thread PROGRAM SOURCE
"""

import os
import pathlib
import re
import subprocess
import sys

# What each sanitizer is there to find. A fault's line is the one that ends in its name as a comment.
FAULTS = {
    "address": ["static_overrun", "dynamic_overrun", "global_overrun", "copy_overrun"],
    "thread": [
        "exchange_in_warp",
        "exchange_in_block",
        "copy_without_barrier",
        "matrix_without_barrier",
        "reuse_without_barrier",
    ],
}


def run(program, kernel):
    # One thread sanitizer report is enough, and leaks are another test's.
    options = {"TSAN_OPTIONS": "halt_on_error=1", "ASAN_OPTIONS": "detect_leaks=0"}
    return subprocess.run([program, kernel], capture_output=True, text=True, timeout=60, env=os.environ | options)


def line_of(fault, source):
    lines = source.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"// {fault}"))


def fault_problem(program, fault, source):
    result = run(program, fault)
    place = f"{source.name}:{line_of(fault, source)}"
    if result.returncode == 0:
        return f"{fault}: not found"
    if not re.search(rf"{re.escape(place)}\b", result.stderr):
        return f"{fault}: not found at {place}, but\n{result.stderr}"
    return None


def right_problem(program, kernel):
    result = run(program, kernel)
    if result.returncode != 0:
        return f"{kernel}: a false alarm\n{result.stderr}"
    return None


def problems(sanitizer, program, source):
    right = re.findall(r'"(\w+_right)"', source.read_text(encoding="utf-8"))
    found = [fault_problem(program, fault, source) for fault in FAULTS[sanitizer]]
    found += [right_problem(program, kernel) for kernel in right]
    return [problem for problem in found if problem]


if __name__ == "__main__":
    failures = problems(sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]))
    print("\n".join(failures) or "all found, no false alarm")
    sys.exit(1 if failures else 0)
