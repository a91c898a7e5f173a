"""The files the layout rules look at."""

import pathlib

SKIPPED = {".git", ".cache", "build", "results", "__pycache__"}


def files(root, kinds):
    """Paths below `root` whose suffix or name is one of `kinds`, relative to it, in order; build outputs left out."""
    root = pathlib.Path(root)
    found = []
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if kinds.intersection({path.suffix, path.name}) and path.is_file() and not SKIPPED.intersection(relative.parts):
            found.append(relative)
    return found


def lines(root, path):
    """(number, text) of each line of a file."""
    return list(enumerate((pathlib.Path(root) / path).read_text(encoding="utf-8").splitlines(), start=1))


def report(problems, rule):
    """Prints the problems, one a line, and returns the exit status."""
    for problem in problems:
        print(problem)
    print(f"{rule}: {len(problems)} violation(s)" if problems else f"{rule}: holds")
    return 1 if problems else 0
