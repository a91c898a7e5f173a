#!/usr/bin/env python3
"""Writes ctest's entries for a doctest executable: one a test case, whatever characters its name has.

A case carries the labels of its executable, and those of the areas (areas.txt) that its source belongs to.

Usage: discover.py EXECUTABLE LABELS TIMEOUT OUTPUT
"""

import pathlib
import re
import subprocess
import sys
from xml.etree import ElementTree

AREAS = pathlib.Path(__file__).with_name("areas.txt")


def areas(text):
    """The areas' names, each with what the paths of its tests match."""
    lines = (line.split("#")[0].split() for line in text.splitlines())
    return [(name, re.compile(pattern)) for name, pattern in filter(None, lines)]


def test_cases(executable):
    """Names and sources."""
    command = [executable, "--list-test-cases", "--reporters=xml"]
    listing = ElementTree.fromstring(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return [(case.get("name"), case.get("filename")) for case in listing.iter("TestCase")]


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
    if len({name for name, _ in cases}) != len(cases):
        sys.exit(f"{executable}: two test cases have the same name")
    known = areas(AREAS.read_text(encoding="utf-8"))
    entries = []
    for name, source in cases:
        own = [area for area, pattern in known if pattern.search(source)]
        entries.append(entry(executable, ";".join([labels, *own]), timeout, name))
    pathlib.Path(output).write_text("".join(entries), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
