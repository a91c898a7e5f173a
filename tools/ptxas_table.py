#!/usr/bin/env python3
"""Compiles every CUDA source for every architecture, and keeps what ptxas says of registers and spills as a table.

Usage: ptxas_table.py ROOT NVCC [--check] [--jobs N]

Writes ROOT/docs/ptxas.md; with --check it writes nothing and fails where a source does not compile, where a kernel
spills more than it may, or where the same nvcc that made the committed table now says something else.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ARCHITECTURES = (75, 80, 86, 89, 90, 100, 120)
CHECKED = 90  # whose spills are limited, and whose kernels are listed one by one

# Bytes that a kernel of a source may spill, by a part of its path and name; the first that matches.
LIMITS = ((r"attention/\w*256|latent|mla", 64), (r"", 0))

# Static shared memory of a kernel, likewise. The emulator counts as much beside dynamic memory (kStaticAllowance), of
# which the sources with a limit of their own have none.
SHARED_LIMITS = ((r"attention/naive|sampling/", 48 * 1024), (r"", 1024))

ENTRY = re.compile(r"Compiling entry function '(\w+)' for 'sm_(\d+)'")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
REGISTERS = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")

Kernel = collections.namedtuple("Kernel", "source architecture name registers shared spilled")


def sources(root):
    return sorted(path.relative_to(root).as_posix() for path in (root / "kernels/cuda").rglob("*.cu"))


def compile_source(root, nvcc, source):
    """(ptxas's words, whether it compiled). The object is thrown away: that it can be made is the point."""
    command = [nvcc, "-std=c++20", "-O3", f"-I{root}", "-diag-suppress=2810", "-Xptxas=-v", "-c", source]
    command += [f"-gencode=arch=compute_{number},code=sm_{number}" for number in ARCHITECTURES]
    done = subprocess.run([*command, "-o", os.devnull], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr, done.returncode == 0


def version_of(nvcc):
    done = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True)
    return re.search(r"V([\d.]+)", done.stdout)[1]


def kernels_of(source, text):
    """The kernels that ptxas speaks of, by their mangled names."""
    found, entry = [], None
    spilled = 0
    for line in text.splitlines():
        if match := ENTRY.search(line):
            entry, spilled = (match[1], int(match[2])), 0
        elif match := SPILLS.search(line):
            spilled = max(int(match[2]), int(match[3]))
        elif entry and (match := REGISTERS.search(line)):
            shared = SHARED.search(line)
            found.append(Kernel(source, entry[1], entry[0], int(match[1]), int(shared[1]) if shared else 0, spilled))
            entry = None
    return found


def demangled(kernels):
    """Names as people read them: without namespaces and arguments."""
    names = [kernel.name for kernel in kernels]
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    return [kernel._replace(name=readable(name)) for kernel, name in zip(kernels, done.stdout.splitlines())]


def readable(name):
    name = re.sub(r"^void ", "", name)
    name = re.sub(r"(servecast::kernels::cuda::|\(anonymous namespace\)::|servecast::kernels::)", "", name)
    name = re.sub(r"\((?:int|bool|unsigned int|unsigned char|[\w:]+)\)(?=[\w-])", "", name)
    name = re.sub(r"\([^()]*\)(?: \[.*\])?$", "", name)
    return name.replace("__nv_bfloat16", "bf16").replace("__half", "f16").replace("__nv_fp8_e4m3", "fp8")


def limit_of(kernel, limits):
    where = f"{kernel.source} {kernel.name}".lower()
    return next(limit for pattern, limit in limits if re.search(pattern, where))


def table(kernels, version):
    lines = [
        "# Registers and spills",
        "",
        f"What `nvcc -Xptxas -v` says of every kernel: nvcc {version}. Made by `tools/ptxas_table.py`, which the tests run",
        "to see that it still holds.",
        "",
        "| architecture | kernels | most registers | kernels that spill | most bytes spilled |",
        "|---|---|---|---|---|",
    ]
    for architecture in ARCHITECTURES:
        of = [kernel for kernel in kernels if kernel.architecture == architecture]
        spilling = [kernel.spilled for kernel in of if kernel.spilled]
        most = max((kernel.registers for kernel in of), default=0)
        lines.append(f"| sm_{architecture} | {len(of)} | {most} | {len(spilling)} | {max(spilling, default=0)} |")
    lines += ["", f"On sm_{CHECKED}:", "", "| source | kernel | registers | static shared bytes | spilled bytes |"]
    lines.append("|---|---|---|---|---|")
    for kernel in kernels:
        if kernel.architecture == CHECKED:
            source = kernel.source.removeprefix("kernels/cuda/")
            lines.append(f"| {source} | `{kernel.name}` | {kernel.registers} | {kernel.shared} | {kernel.spilled} |")
    return "\n".join(lines) + "\n"


def compile_all(root, nvcc, jobs):
    """(kernels, problems)."""
    names = sources(root)
    kernels, problems = [], []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for source, (text, compiled) in zip(names, pool.map(lambda name: compile_source(root, nvcc, name), names)):
            kernels += kernels_of(source, text)
            if not compiled:
                problems.append(f"{source} does not compile:\n{text}")
    return sorted(demangled(kernels), key=lambda kernel: (kernel.source, kernel.name, kernel.architecture)), problems


def spill_problems(kernels):
    return [
        f"{kernel.source}: {kernel.name} spills {kernel.spilled} bytes on sm_{CHECKED}; {limit} are allowed"
        for kernel in kernels
        if kernel.architecture == CHECKED and kernel.spilled > (limit := limit_of(kernel, LIMITS))
    ]


def shared_problems(kernels):
    return [
        f"{kernel.source}: {kernel.name} has {kernel.shared} bytes of static shared memory; {limit} are allowed"
        for kernel in kernels
        if kernel.shared > (limit := limit_of(kernel, SHARED_LIMITS))
    ]


def count_problems(kernels, committed):
    """A change of ptxas's words would leave nothing to find fault with. Whatever the nvcc, kernels stay as many."""
    problems = []
    for architecture, count in re.findall(r"^\| sm_(\d+) \| (\d+) \|", committed, re.MULTILINE):
        found = sum(kernel.architecture == int(architecture) for kernel in kernels)
        if found < int(count):
            problems.append(f"ptxas speaks of {found} kernels for sm_{architecture}; the committed table has {count}")
    return problems if kernels else [*problems, "ptxas speaks of no kernel"]


def main():
    parser = argparse.ArgumentParser(description="registers and spills of all kernels")
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("nvcc")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    kernels, problems = compile_all(options.root.resolve(), options.nvcc, options.jobs)
    problems += spill_problems(kernels) + shared_problems(kernels)
    version = version_of(options.nvcc)
    file, text = options.root / "docs/ptxas.md", table(kernels, version)
    if not options.check:
        file.write_text(text, encoding="utf-8")
    else:
        committed = file.read_text(encoding="utf-8")
        problems += count_problems(kernels, committed)
        if not problems and f"nvcc {version}." in committed and committed != text:
            problems.append(f"{file} is not what nvcc says now: run tools/ptxas_table.py . {options.nvcc}")
    print("\n".join(problems) or f"ptxas: {len(kernels)} kernels, within their limits")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
