#!/usr/bin/env python3
"""Writes ctest's entries for a doctest executable: one a test case, whatever characters its name has.

Usage: discover.py EXECUTABLE LABELS TIMEOUT OUTPUT
"""

import pathlib
import subprocess
import sys


def test_cases(executable):
    listing = subprocess.run([executable, "--list-test-cases", "--no-colors"], check=True, capture_output=True, text=True)
    return [line for line in listing.stdout.splitlines() if not line.startswith(("[doctest]", "=====")) and line]


def bracketed(text):
    return f"[===[{text}]===]"


def entry(executable, labels, timeout, case):
    """The last property makes an entry fail whose filter selects nothing; doctest itself would pass."""
    name = bracketed(f"{pathlib.Path(executable).name}: {case}")
    selected = case.replace("\\", "\\\\").replace(",", "\\,")
    return (
        f"add_test({name} {bracketed(executable)} {bracketed('--test-case=' + selected)})\n"
        f"set_tests_properties({name} PROPERTIES LABELS {bracketed(labels)} TIMEOUT {timeout}"
        ' FAIL_REGULAR_EXPRESSION "test cases: +0 ")\n'
    )


def main(executable, labels, timeout, output):
    cases = test_cases(executable)
    if len(set(cases)) != len(cases):
        sys.exit(f"{executable}: two test cases have the same name")
    pathlib.Path(output).write_text("".join(entry(executable, labels, timeout, case) for case in cases), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
