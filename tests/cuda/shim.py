"""CUDA kernels on the host: compiled by a C++ compiler with shim.h, called with what the core would hand them."""

import ctypes
import json
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from perflab.runtime.cuda.sources import Kernel, all_kernels, unit

HERE = Path(__file__).parent
CORE = HERE.parents[1] / "runtime/core"
MAX_DIM, MAX_OPERANDS, TENSORS = 8, 5, 32
i32, i64, u64, pointer, double = ctypes.c_int, ctypes.c_longlong, ctypes.c_ulonglong, ctypes.c_void_p, ctypes.c_double


class Walk(ctypes.Structure):
    _fields_ = (
        ("n", i64),
        ("ndim", i32),
        ("padding", i32),
        ("p", pointer * MAX_OPERANDS),
        ("shape", i64 * MAX_DIM),
        ("steps", i64 * MAX_OPERANDS * MAX_DIM),
        ("cells", u64 * MAX_OPERANDS),
    )


class Pointwise(ctypes.Structure):
    _fields_ = (("w", Walk), ("attributes", double * 4))


class Reduce(ctypes.Structure):
    _fields_ = (
        *((name, pointer) for name in ("in_", "out", "partial")),
        *((name, i64) for name in ("outputs", "reduced", "splits")),
        *((name, i32) for name in ("joins", "columns", "outer_dims", "inner_dims")),
        *((name, i64 * MAX_DIM) for name in ("outer_shape", "outer_steps", "inner_shape", "inner_steps")),
    )


class Rows(ctypes.Structure):
    _fields_ = (
        ("out", pointer),
        ("in_", pointer * 3),
        *((name, i64) for name in ("rows", "length", "inner")),
        ("eps", double),
        ("moments", pointer),
        ("partial", pointer),
        ("splits", i64),
        ("stage", i32),
        ("padding", i32),
    )


class Channels(ctypes.Structure):
    _fields_ = (
        ("out", pointer * 2),
        ("in_", pointer * 3),
        *((name, i64) for name in ("channels", "inner", "length")),
        ("eps", double),
    )


class Scan(ctypes.Structure):
    _fields_ = (
        ("out", pointer),
        ("in_", pointer),
        *((name, i64) for name in ("rows", "length", "inner")),
        *((name, i32) for name in ("reverse", "exclusive", "largest", "padding")),
    )


class Indexed(ctypes.Structure):
    _fields_ = (
        ("w", Walk),
        ("size", i64),
        ("step", i64),
        ("from_end", i32),
        ("index_bytes", i32),
        ("wrong", pointer),
    )


class Foreach(ctypes.Structure):
    _fields_ = (
        ("ends", i64 * TENSORS),
        ("p", pointer * TENSORS * MAX_OPERANDS),
        ("tensors", i32),
        ("operands", i32),
        *((name, double) for name in ("lr", "decay", "eps", "first", "second", "fresh", "keep", "root")),
        *((name, i32) for name in ("maximize", "flag", "other_flag", "padding")),
        ("found", pointer),
    )


class _Exported(ctypes.Structure):
    _fields_ = (
        ("parameter_bytes", ctypes.c_size_t),
        ("run", ctypes.CFUNCTYPE(None, pointer, ctypes.c_uint, ctypes.c_uint)),
    )


def compiler() -> str | None:
    return shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")


def compile_host(kernels: Sequence[Kernel], target: Path) -> Path:
    """A library that exports the kernels."""
    text = f'#include "shim.h"\n{unit(list(kernels))}\n#include "shim_half.h"\n'
    source = target.with_suffix(".cpp")
    source.write_text(text)
    command = [compiler() or "c++", "-O0", "-std=c++20", "-shared", "-fPIC", f"-I{HERE}", f"-I{CORE}"]
    done = subprocess.run([*command, "-o", target, source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


class Shim:
    """All kernels, in a few libraries."""

    def __init__(self, folder: Path, parts: int = 6) -> None:
        kernels = list(all_kernels())
        self.library_of = {k.name: folder / f"kernels{i % parts}.so" for i, k in enumerate(kernels)}
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda i: compile_host(kernels[i::parts], folder / f"kernels{i}.so"), range(parts)))
        self.index = folder / "index.json"
        self.index.write_text(json.dumps({name: str(path) for name, path in self.library_of.items()}))
        self._loaded: dict[Path, ctypes.CDLL] = {}

    def run(self, name: str, parameters: ctypes.Structure, blocks: int = 2, threads: int = 32) -> None:
        path = self.library_of[name]
        if path not in self._loaded:
            self._loaded[path] = ctypes.CDLL(str(path))
        exported = _Exported.in_dll(self._loaded[path], name)
        assert exported.parameter_bytes == ctypes.sizeof(parameters)
        exported.run(ctypes.addressof(parameters), blocks, threads)


def walk(operands: Sequence[np.ndarray[Any, Any]]) -> Walk:
    """A walk over the shape of the first operand, to which the others broadcast."""
    shape = operands[0].shape
    made = Walk(n=operands[0].size, ndim=len(shape), shape=(i64 * MAX_DIM)(*shape))
    for k, a in enumerate(operands):
        wide = np.broadcast_to(a, shape)
        made.p[k] = a.ctypes.data
        for d, step in enumerate(wide.strides):
            made.steps[d][k] = step if shape[d] > 1 else 0
    return made
