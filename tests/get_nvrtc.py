"""Prints the path of an NVRTC library for IND_NVRTC_LIBRARY; nothing where the default search finds one or none exists.

Where there is neither a CUDA toolkit nor a Python wheel that brings NVRTC, the wheel is fetched into build/nvrtc.
--with-gpu: only where an NVIDIA driver is present; without one programs run on the host device and need no compiler.
--cuobjdump: the path of that program instead, which reads what NVRTC made; fetched into build/cuobjdump where it is not there.
"""

import ctypes
import glob
import os
import shutil
import subprocess
import sys

WHEEL = "nvidia-cuda-nvrtc==13.0.88"
FOLDER = "build/nvrtc"
READERS = ["nvidia-cuda-cuobjdump==13.5.37", "nvidia-cuda-nvdisasm==13.5.37"]  # the first runs the second
READERS_FOLDER = "build/cuobjdump"


def loads(name):
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def in_toolkit():
    roots = [os.environ.get("CUDA_PATH"), os.environ.get("CUDA_HOME"), "/usr/local/cuda"]
    names = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]
    return any(loads(name) for name in names) or any(glob.glob(f"{r}/lib64/libnvrtc.so*") for r in roots if r)


def in_wheels(folders):
    """The wheels put it in nvidia/cu13/lib (CUDA 13) or nvidia/cuda_nvrtc/lib (CUDA 12)."""
    found = [f for d in folders for f in glob.glob(f"{d}/nvidia/*/lib/libnvrtc.so.1[0-9]")]
    return os.path.abspath(sorted(found)[-1]) if found else None


def cuobjdump():
    folders = [os.environ.get("PATH", ""), "/usr/local/cuda/bin", *(f"{d}/nvidia/cu13/bin" for d in [*sys.path, READERS_FOLDER])]
    found = shutil.which("cuobjdump", path=os.pathsep.join(folders))
    return found and os.path.abspath(found)


def fetch(wheels, folder, lacking):
    print(f"setup: fetching {' '.join(wheels)} into {folder}", file=sys.stderr)
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--retries", "1"]
    done = subprocess.run(pip + ["--target", folder, *wheels], capture_output=True, text=True)
    if done.returncode:
        print(f"setup: they cannot be fetched; {lacking} are skipped", file=sys.stderr)


def main():
    if "--cuobjdump" in sys.argv:
        if not cuobjdump():
            fetch(READERS, READERS_FOLDER, "tests that read machine code")
        print(cuobjdump() or "")
        return
    if os.environ.get("IND_NVRTC_LIBRARY"):
        print(os.environ["IND_NVRTC_LIBRARY"])
        return
    if ("--with-gpu" in sys.argv and not loads("libcuda.so.1")) or in_toolkit():
        return
    folders = [*sys.path, FOLDER]
    if not in_wheels(folders):
        fetch([WHEEL], FOLDER, "tests that compile for a GPU")
    print(in_wheels(folders) or "")


if __name__ == "__main__":
    main()
