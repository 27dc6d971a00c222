"""Programs that run with the fake driver, each in a process of its own: a driver is opened once."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from .shim import HERE, compiler

_BEGIN = """
import ctypes, json, sys
from perflab.runtime import _core, presence
library = sys.argv[1]
if wrong := _core.cuda_open(library):
    raise SystemExit(wrong)
presence.missing_for_cuda = lambda: ""
from perflab import runtime as rt
import perflab.runtime.cuda.devices as devices
devices.missing_for_cuda = lambda: ""
fake = ctypes.CDLL(library)
fake.fake_calls.restype = fake.fake_pending.restype = fake.fake_used.restype = ctypes.c_longlong
calls = lambda name: fake.fake_calls(name.encode())
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
        "-o",
        str(target),
        HERE / "fake_driver.cpp",
    ]
    subprocess.run(command, check=True)
    return target


def run(driver: Path, program: str, *arguments: str) -> Any:
    """What the program leaves in `told`."""
    text = f"{_BEGIN}\n{program}\nprint(json.dumps(told))"
    done = subprocess.run([sys.executable, "-c", text, str(driver), *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
