#!/usr/bin/env python3
"""Configures the preset `cuda` in a folder of its own and builds the module and gpu_check.

Usage: cuda_build.py ROOT BUILD CMAKE
"""

import pathlib
import subprocess
import sys


def main(root, build, cmake):
    if not (pathlib.Path(build) / "build.ninja").is_file():
        subprocess.run([cmake, "-S", root, "-B", build, "--preset", "cuda"], check=True)
    subprocess.run([cmake, "--build", build, "--target", "servecast_cuda", "gpu_check"], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
