#!/usr/bin/env python3
"""Small files, spaces, no leftovers.

Usage: file_rules.py ROOT
"""

import re
import sys

import tree

MAX_LINES = {".cpp": 400, ".hpp": 400, ".py": 400, ".cu": 500, ".cuh": 500}
TEXT = {".cpp", ".hpp", ".cu", ".cuh", ".py", ".cmake", ".md", "CMakeLists.txt", "dev", "run"}  # data is not ours to judge

# What must not stand in a finished tree, and why.
FORBIDDEN = {
    re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"): "do it or file it; the code is no list of wishes",
    re.compile(r"(?<![\w.])/(home|root)/"): "a path of one machine",
    re.compile(r"^(<<<<<<< |=======$|>>>>>>> )"): "an unresolved merge",
    re.compile(r"\bNOLINT(NEXTLINE|BEGIN|END)?\b(?!\()"): "name the check that it silences",
}
# This file names what it forbids, and its test plants it.
EXEMPT = {"tests/layout/file_rules.py", "tests/layout/layout_test.py"}


def size_problems(root, path):
    limit, count = MAX_LINES[path.suffix], len(tree.lines(root, path))
    return [f"{path}: {count} lines, the limit is {limit}"] if count > limit else []


def tab_problems(root, path):
    return [f"{path}:{number}: a tab" for number, line in tree.lines(root, path) if "\t" in line]


def word_problems(root, path):
    if path.as_posix() in EXEMPT:
        return []
    return [
        f"{path}:{number}: '{match[0].strip()}': {why}"
        for number, line in tree.lines(root, path)
        for pattern, why in FORBIDDEN.items()
        if (match := pattern.search(line))
    ]


def problems(root):
    found = []
    for suffixes, rule in ((set(MAX_LINES), size_problems), (TEXT, tab_problems), (TEXT, word_problems)):
        for path in tree.files(root, suffixes):
            found += rule(root, path)
    return found


if __name__ == "__main__":
    sys.exit(tree.report(problems(sys.argv[1]), "file rules"))
