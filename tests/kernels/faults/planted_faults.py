#!/usr/bin/env python3
"""Plants mistakes in copies of the kernels' sources, and sees that the cases find each of them.

Usage: planted_faults.py ROOT BUILD COMPILER RUNNER_OBJECT LIBRARY... [--only WORDS] [--jobs N]

Each fault replaces a text that stands exactly once in a source. The sources that include it are compiled against the
copy, linked in front of the sound ones, and run until a case fails: lazy and eager asynchronous copies, in order and
shuffled. Prints what found each fault. Fails where one is not found, where its text is no longer there, or where the
sound kernels fail the same cases.
"""

import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

from faults import FAULTS

# How a launch may be ordered: when copies arrive, and the seed of blocks and warps.
RUNS = [("lazy", 0), ("eager", 0), ("lazy", 1), ("eager", 1), ("lazy", 2), ("eager", 2)]
FLAGS = ["-std=c++20", "-O1", "-g", "-DSERVECAST_EMULATION", "-w"]
SANITIZED = {"TSAN_OPTIONS": "halt_on_error=1", "ASAN_OPTIONS": "detect_leaks=0"}


class Stale(Exception):
    """The text to be replaced is not there, or not alone."""


def mutated(root, fault):
    text = (root / fault.file).read_text(encoding="utf-8")
    if text.count(fault.old) != 1:
        raise Stale(f"stands {text.count(fault.old)} times in {fault.file}, and not once: {fault.old!r}")
    return text.replace(fault.old, fault.new)


def compile_sources(options, fault, folder, copy=None):
    """The fault's sources as objects in `folder`; `copy` stands in place of the file it was made from."""
    objects = []
    for source in fault.sources:
        objects.append(folder / (pathlib.Path(source).name + ".o"))
        path = copy if copy and source == fault.file else options.root / source
        command = [options.compiler, *FLAGS, *sanitize(fault), f"-I{folder}", f"-I{options.root}", "-x", "c++", "-c"]
        subprocess.run([*command, path, "-o", objects[-1]], check=True)
    return objects


def link(options, fault, objects, folder):
    command = [options.compiler, *sanitize(fault), *objects, options.runner, *options.libraries, "-lpthread", "-ldl"]
    subprocess.run([*command, "-o", folder / "runner"], check=True)
    return folder / "runner"


def sanitize(fault):
    return [f"-fsanitize={fault.sanitizer}"] if fault.sanitizer else []


def faulty_runner(options, fault, folder):
    copy = folder / fault.file
    copy.parent.mkdir(parents=True)
    copy.write_text(mutated(options.root, fault), encoding="utf-8")
    return link(options, fault, compile_sources(options, fault, folder, copy), folder)


def sound_runner(options, fault, folder):
    """Compiled anew only where the fault's sources are compiled in a way of their own."""
    folder.mkdir()
    objects = compile_sources(options, fault, folder) if fault.sanitizer else []
    return link(options, fault, objects, folder)


def run(runner, fault, copies, seed):
    """(whether something was wrong, the runner's words)."""
    command = [runner, "far" if fault.far else "cases", fault.operator, fault.cases, copies, str(seed)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=SANITIZED, check=False)
    except subprocess.TimeoutExpired:
        return True, "hang: it did not end in 300 s\n"
    if done.returncode == 0 and done.stdout.strip() == "0 cases":
        raise Stale(f"no case of {fault.operator} is named '{fault.cases}'")
    if report := re.search(r"SUMMARY: \w+Sanitizer: ([\w -]+) \S*/(kernels/\w+/\S+)", done.stderr):
        return True, f"{fault.sanitizer} sanitizer: {report[1]} at {report[2]}\n"
    if done.returncode < 0:
        return True, f"{done.stdout}crash: signal {-done.returncode}\n"
    return done.returncode != 0, done.stdout


def found_by(options, fault):
    """(whether the fault was found, and the sound kernels were not, a line that says by what)."""
    with tempfile.TemporaryDirectory(dir=options.build) as name:
        folder = pathlib.Path(name)
        try:
            runner = faulty_runner(options, fault, folder)
            for copies, seed in RUNS:
                wrong, words = run(runner, fault, copies, seed)
                if not wrong:
                    continue
                sound_is_wrong, complaint = run(sound_runner(options, fault, folder / "sound"), fault, copies, seed)
                if sound_is_wrong:
                    return False, f"{fault.name}: FALSE ALARM: the sound kernels: {complaint}"
                order = "in order" if seed == 0 else f"shuffled by {seed}"
                first = next(iter(words.splitlines()), "an exit without a word")
                return True, f"{fault.name}: found by {first} ({copies} copies, {order})"
        except Stale as stale:
            return False, f"{fault.name}: STALE: {stale}"
        except subprocess.CalledProcessError:
            return False, f"{fault.name}: does not compile"
    return False, f"{fault.name}: NOT FOUND"


def main():
    parser = argparse.ArgumentParser(description="planted faults and what finds them")
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("compiler")
    parser.add_argument("runner", type=pathlib.Path)
    parser.add_argument("libraries", type=pathlib.Path, nargs="+")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    faults = [fault for fault in FAULTS if options.only in fault.name]
    missed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for found, line in pool.map(lambda fault: found_by(options, fault), faults):
            missed += not found
            print(line, flush=True)
    print(f"{len(faults) - missed} of {len(faults)} faults found")
    return 1 if missed or not faults else 0


if __name__ == "__main__":
    sys.exit(main())
