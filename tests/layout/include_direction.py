#!/usr/bin/env python3
"""Includes run one way: each folder sees only what the table below allows it.

Usage: include_direction.py ROOT
"""

import re
import sys

import tree

EVERYTHING = {"sim", "policies", "costmodel", "traces", "kernels", "calibrate", "live", "validate", "report", "app"}

# folder: (folders of ours it may include beside itself, packages its .cpp may include)
FOLDERS = {
    "sim": (set(), {"Boost.Random", "Boost.Histogram"}),
    "policies": ({"sim"}, set()),
    "costmodel": ({"sim"}, {"nlohmann/json", "yaml-cpp", "Boost.Graph", "Eigen"}),
    "traces": ({"sim"}, {"simdjson", "nlohmann/json", "sentencepiece", "ICU", "Boost.Random", "Boost.Math", "POSIX"}),
    "kernels": (set(), {"CUDA", "OpenBLAS", "Eigen", "POSIX", "x86", "sanitizers"}),
    "calibrate": ({"kernels", "costmodel", "sim", "traces"}, {"Eigen", "nlohmann/json"}),
    "live": ({"kernels", "sim", "policies", "costmodel"}, {"nlohmann/json"}),
    "validate": ({"sim", "traces", "costmodel"}, {"nlohmann/json"}),
    "report": ({"sim"}, {"nlohmann/json"}),
    "app": (EVERYTHING, {"CLI11", "yaml-cpp", "fmt", "oneTBB", "SQLite", "MPI", "nlohmann/json", "POSIX"}),
    "tests": (EVERYTHING, {"any"}),
    "bench": (EVERYTHING, {"any"}),
}

# How the headers of a package begin. The standard library's have neither a dot nor a slash.
PACKAGES = {
    "boost/random": "Boost.Random",
    "boost/histogram": "Boost.Histogram",
    "boost/graph": "Boost.Graph",
    "boost/math": "Boost.Math",
    "nlohmann/": "nlohmann/json",
    "yaml-cpp/": "yaml-cpp",
    "Eigen/": "Eigen",
    "simdjson.h": "simdjson",
    "sentencepiece_processor.h": "sentencepiece",
    "unicode/": "ICU",
    "CLI/": "CLI11",
    "fmt/": "fmt",
    "tbb/": "oneTBB",
    "oneapi/": "oneTBB",
    "sqlite3.h": "SQLite",
    "mpi.h": "MPI",
    "cuda": "CUDA",
    "cublas": "CUDA",
    "cblas.h": "OpenBLAS",
    "doctest/": "doctest",
    "rapidcheck": "RapidCheck",
    "benchmark/": "Google Benchmark",
    "immintrin.h": "x86",
    "sanitizer/": "sanitizers",
    "sys/": "POSIX",
    "unistd.h": "POSIX",
    "fcntl.h": "POSIX",
    "dlfcn.h": "POSIX",
    "pthread.h": "POSIX",
    "sched.h": "POSIX",
    "spawn.h": "POSIX",
    "time.h": "POSIX",
    "ucontext.h": "POSIX",
}

# Package headers stay in .cpp files; these are the exceptions, each with its reason.
IN_HEADERS = {
    ("sim/random.hpp", "boost/random/mersenne_twister.hpp"): "RandomStream is that generator, held by value",
    ("kernels/cuda/device.hpp", "cuda_runtime.h"): "device sources see CUDA or its emulation through that one header",
    ("kernels/cuda/device.hpp", "cuda_fp16.h"): "as above",
    ("kernels/cuda/device.hpp", "cuda_bf16.h"): "as above",
    ("kernels/cuda/device.hpp", "cuda_fp8.h"): "as above",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def is_standard(header):
    return "/" not in header and "." not in header


def package_of(header):
    return next((package for prefix, package in PACKAGES.items() if header.startswith(prefix)), None)


def package_problem(path, header):
    """Why `path` may not include the package header, or None."""
    folder = path.parts[0]
    allowed = FOLDERS[folder][1]
    if "any" in allowed:
        return None
    package = package_of(header)
    if package is None:
        return f"<{header}> belongs to no package of the table in include_direction.py"
    if package not in allowed:
        return f"{folder} must not include {package}"
    if path.suffix == ".hpp" and (path.as_posix(), header) not in IN_HEADERS:
        return f"package header <{header}> belongs in a .cpp, not in a header"
    return None


def own_problem(root, path, header):
    """Why `path` may not include our header, or None."""
    folder, target = path.parts[0], header.split("/")[0]
    if target not in FOLDERS or "/" not in header:
        return f'"{header}": write the path from the root'
    if target != folder and target not in FOLDERS[folder][0]:
        return f"{folder} must not include {target}"
    if not (root / header).is_file():
        return f'"{header}" does not exist'
    return None


def problems(root):
    found = []
    for path in tree.files(root, {".cpp", ".hpp", ".cu", ".cuh"}):
        if path.parts[0] not in FOLDERS:
            found.append(f"{path}: {path.parts[0]} is no folder of the table in include_direction.py")
            continue
        for number, line in tree.lines(root, path):
            match = INCLUDE.match(line)
            if not match or (match[1] == "<" and is_standard(match[2])):
                continue
            problem = package_problem(path, match[2]) if match[1] == "<" else own_problem(root, path, match[2])
            if problem:
                found.append(f"{path}:{number}: {problem}")
    return found


if __name__ == "__main__":
    root = tree.pathlib.Path(sys.argv[1])
    sys.exit(tree.report(problems(root), "include direction"))
