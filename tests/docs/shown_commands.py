#!/usr/bin/env python3
"""Runs every command that the documentation shows, and compares what it prints with what is shown.

Usage: shown_commands.py ROOT PROGRAM [--update] [FILE.md...]

A fenced block marked `sh` is run whole by bash. A block marked `text` right after it must be exactly what it prints on
standard output; --update rewrites those. The blocks of a file run in order, in one working copy of the project, where
`servecast` and `./dev run|cli` are PROGRAM. Lines that install, fetch, build or test are left out (SKIPPED), and so are
blocks over data that is not beside this tree, named by the block or by an experiment that it runs; both are told.
"""

import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile

SKIPPED = [
    r"(sudo )?apt(-get)? ",
    r"git clone ",
    r"cd servecast$",
    r"\./dev (test|bench|lint|format|build)\b",
    r"\.ci/run\b",
    r"cmake ",
    r"ctest ",
]
FOREIGN_DATA = "../shared/"
COPIED = ["experiments", "docs"]  # a command may write here
FENCE = re.compile(r"^```(\w*)\s*$")
DEV = """#!/usr/bin/env bash
set -euo pipefail
command=$1
shift
case $command in
  run) exec servecast run "$@" ;;
  cli) exec servecast "$@" ;;
  *) echo "dev: '$command' is not for this test" >&2; exit 2 ;;
esac
"""


class Block:
    """Lines first..last (exclusive) of a file, between its fences."""

    def __init__(self, kind, first, last, lines):
        self.kind, self.first, self.last = kind, first, last
        self.text = "".join(line + "\n" for line in lines[first:last])


def blocks_of(lines):
    blocks, opened, kind = [], None, None
    for number, line in enumerate(lines):
        fence = FENCE.match(line)
        if opened is None and fence:
            opened, kind = number + 1, fence[1]
        elif opened is not None and line.rstrip() == "```":
            blocks.append(Block(kind, opened, number, lines))
            opened = None
    return blocks


def shown_after(block, blocks, lines):
    """The `text` block that stands right after `block`, blank lines apart."""
    following = next((other for other in blocks if other.first > block.last), None)
    if following is None or following.kind != "text":
        return None
    between = lines[block.last + 1 : following.first - 1]
    return following if not any(line.strip() for line in between) else None


def without_skipped(script):
    kept = [line for line in script.splitlines() if not any(re.match(pattern, line.strip()) for pattern in SKIPPED)]
    return "\n".join(kept) + "\n"


def has_commands(script):
    return any(line.strip() and not line.strip().startswith("#") for line in script.splitlines())


def needs_foreign_data(script, folder):
    """Whether the script names data outside the tree, itself or through an experiment file that it names."""
    texts = [script]
    for word in script.split():
        if word.endswith(".yaml") and (folder / word).is_file():
            texts.append((folder / word).read_text(encoding="utf-8"))
    return any(FOREIGN_DATA in text for text in texts)


class WorkingCopy:
    def __init__(self, root, program):
        self.root, self.program = pathlib.Path(root).resolve(), pathlib.Path(program).resolve()
        self.shared = self.root.parent / "shared"

    def __enter__(self):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="servecast-docs-"))
        self.folder, tools = self.base / "servecast", self.base / "bin"
        self.folder.mkdir()
        tools.mkdir()
        (tools / "servecast").symlink_to(self.program)
        for name in COPIED:
            if (self.root / name).is_dir():
                shutil.copytree(self.root / name, self.folder / name)
        for name in ("models", "devices", "tools"):
            if (self.root / name).is_dir():
                (self.folder / name).symlink_to(self.root / name)
        if self.shared.is_dir():
            (self.base / "shared").symlink_to(self.shared)
        dev = self.folder / "dev"
        dev.write_text(DEV, encoding="utf-8")
        dev.chmod(dev.stat().st_mode | stat.S_IXUSR)
        self.environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}", LC_ALL="C.UTF-8")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.base)

    def run(self, script):
        """Paths of the working copy are printed as though seen from it."""
        result = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        result.stdout = result.stdout.replace(f"{self.folder}/", "")
        return result


def differences(shown, printed):
    """The first line that differs, as a message; None where there is none."""
    wanted, got = shown.splitlines(), printed.splitlines()
    for number in range(max(len(wanted), len(got))):
        ours = wanted[number] if number < len(wanted) else "(nothing)"
        theirs = got[number] if number < len(got) else "(nothing)"
        if ours.rstrip() != theirs.rstrip():
            return f"line {number + 1} of what is shown differs\n  shown:   {ours}\n  printed: {theirs}"
    return None


def run_file(path, name, copy, update):
    """Problems, and how many blocks ran. Rewrites the file where `update` says so."""
    lines = path.read_text(encoding="utf-8").splitlines()
    blocks = blocks_of(lines)
    problems, ran, rewritten = [], 0, []
    for block in blocks:
        script = without_skipped(block.text) if block.kind == "sh" else ""
        if not has_commands(script):
            continue
        where = f"{name}:{block.first + 1}"
        if needs_foreign_data(script, copy.folder) and not copy.shared.is_dir():
            print(f"{where}: skipped, {FOREIGN_DATA} is not beside this tree")
            continue
        result = copy.run(script)
        ran += 1
        if result.returncode != 0:
            problems.append(f"{where}: exit status {result.returncode}\n{script}{result.stderr}")
            continue
        shown = shown_after(block, blocks, lines)
        if shown is None:
            continue
        if update:
            rewritten.append((shown, [line.rstrip() for line in result.stdout.splitlines()]))
        elif difference := differences(shown.text, result.stdout):
            problems.append(f"{name}:{shown.first + 1}: {difference}\nwrite it anew with --update")
    for shown, printed in reversed(rewritten):
        lines[shown.first : shown.last] = printed
    if rewritten:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return problems, ran


def documents(root):
    found = [root / "README.md", *sorted((root / "docs").glob("*.md")), *sorted((root / "experiments").rglob("*.md"))]
    return [path for path in found if path.is_file()]


def main(root, program, *arguments):
    root, update = pathlib.Path(root).resolve(), "--update" in arguments
    chosen = [pathlib.Path(name).resolve() for name in arguments if name != "--update"] or documents(root)
    problems, ran = [], 0
    for path in chosen:
        with WorkingCopy(root, program) as copy:
            found, count = run_file(path, path.relative_to(root).as_posix(), copy, update)
        problems += found
        ran += count
    for problem in problems:
        print(problem)
    print(f"{ran} blocks ran, {len(problems)} problem(s)")
    if ran == 0:
        print("nothing ran: this says nothing")
    return 1 if problems or ran == 0 else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
