"""Programs that run with the fake driver, each in a process of its own: a driver is opened once."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from .shim import CORE, HERE, Shim, compiler

_BEGIN = """
import ctypes, json, sys
from perflab import runtime as rt
from perflab.runtime import _core, presence
from perflab.runtime.cuda import build
library = presence._DRIVER = DRIVER
presence.find_spec = lambda name: name  # CuPy is not needed
_core.cuda_set_blas_callback(lambda: [library])
if INDEX:  # kernels compiled for the host
    paths = json.load(open(INDEX))
    build.architecture = lambda major, minor: ""
    build.machine_code = lambda kernel, arch: (paths[kernel.name] + "\\0").encode()
fake = ctypes.CDLL(library)
fake.fake_calls.restype = fake.fake_pending.restype = fake.fake_used.restype = ctypes.c_longlong
calls = lambda name: fake.fake_calls(name.encode())
pending = fake.fake_pending
"""
# With a CuPy that is NumPy.
WITH_CUPY = f"""
sys.path.insert(0, {str(HERE)!r})
import fake_cupy
cupy = sys.modules["cupy"] = fake_cupy.module(fake)
"""


def build(folder: Path) -> Path:
    """The driver as a library."""
    target = folder / "libfake_cuda.so"
    command = [
        compiler() or "c++",
        "-O1",
        "-std=c++20",
        "-shared",
        "-fPIC",
        f"-I{CORE}",
        "-o",
        str(target),
        HERE / "fake_driver.cpp",
    ]
    subprocess.run(command, check=True)
    return target


def install(folder: Path) -> None:
    """Let this process compute on the fake driver, with the kernels for the host and the CuPy that is NumPy."""
    shim = Shim(folder)
    exec(_BEGIN + WITH_CUPY, {"DRIVER": str(build(folder)), "INDEX": str(shim.index)})


def run(driver: Path, program: str, shim: Shim | None = None) -> Any:
    """What the program leaves in `told`. shim: the kernels that it can launch."""
    given = f"DRIVER, INDEX = {str(driver)!r}, {str(shim.index) if shim else ''!r}"
    text = f"{given}\n{_BEGIN}\n{program}\nprint(json.dumps(told))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
