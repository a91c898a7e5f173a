#!/usr/bin/env python3
"""What is built with CUDA starts with or without a driver, and names no CUDA library that it needs to start.

Usage: cuda_starts.py PLAIN_GPU_CHECK CUDA_BUILD

PLAIN_GPU_CHECK was built without CUDA: with the module beside it, it loads the module.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MESSAGE = "gpu_check: no usable CUDA device: "
NO_DEVICE = 4


def probe(program, folder):
    command = [program, "--backend", "cuda", "--phase", "probe", "--out", folder]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def start_problem(program, folder):
    """A device is found, or its absence is one line."""
    done = probe(program, folder)
    if done.returncode == 0:
        return None
    one_message = done.stderr.startswith(MESSAGE) and done.stderr.count("\n") == 1
    if done.returncode == NO_DEVICE and one_message and "servecast_cuda.so" not in done.stderr:
        return None
    return f"{program}: exit {done.returncode}, and says\n{done.stderr}"


def link_problem(file):
    listed = subprocess.run(["ldd", file], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"lib(?:cuda|cudart|cublas\w*|nvidia\S*)\.so\S*", listed)
    return f"{file} needs {found} to start" if found else None


def main(plain, build):
    build = pathlib.Path(build)
    module, program = build / "app/servecast_cuda.so", build / "kernels/gpu_check/gpu_check"
    with tempfile.TemporaryDirectory() as folder:
        loader = shutil.copy(plain, folder)
        shutil.copy(module, folder)
        problems = [start_problem(program, folder), start_problem(loader, folder)]
    problems += [link_problem(module), link_problem(program)]
    print("\n".join(filter(None, problems)) or "starts")
    return 1 if any(problems) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
