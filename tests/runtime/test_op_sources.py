"""The C expressions of pointwise ops give what their kernels give."""

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perflab.runtime.op import Op
from perflab.runtime.registry import OPS


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    """The ops' C expressions, compiled: one function of doubles (and ints for masks) each."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler to compile the ops' expressions with")
    folder: Path = tmp_path_factory.mktemp("sources")
    lines = ["#include <math.h>"]
    for op in OPS.values():
        if op.source:
            number = "double" if "f" in op.kinds else "long long"
            parameters = ", ".join(f"{number if i.cast else 'int'} {i.name}" for i in op.inputs)
            presets = {a.name: int(a.preset) if a.kind == "b" else a.preset for a in op.attributes}
            expression = op.source.format(**{i.name: i.name for i in op.inputs}, **presets)
            lines.append(f"double {op.name}_({parameters}) {{ return {expression}; }}")
    (folder / "ops.c").write_text("\n".join(lines))
    subprocess.run([compiler, "-shared", "-fPIC", "-o", "ops.so", "ops.c", "-lm"], cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "ops.so"))

    def function(name: str) -> Any:
        found = library[f"{name}_"]
        found.restype = ctypes.c_double
        number = ctypes.c_double if "f" in OPS[name].kinds else ctypes.c_longlong
        found.argtypes = [number if i.cast else ctypes.c_int for i in OPS[name].inputs]
        return found

    return function


@pytest.mark.parametrize("op", [op for op in OPS.values() if op.source], ids=lambda op: op.name)
def test_the_c_expression_gives_what_the_kernel_gives(op: Op, sources: Callable[[str], Any]) -> None:
    special = [0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan] if "f" in op.kinds else [0, 1, 2, 5, 60]
    compiled = sources(op.name)
    for values in np.stack([g.reshape(-1) for g in np.meshgrid(*[special] * len(op.inputs))], axis=1):
        arrays = [np.asarray([v if i.cast else v > 0]) for v, i in zip(values, op.inputs, strict=True)]
        with np.errstate(all="ignore"):
            want = float(op.body(np, *arrays, **{a.name: a.preset for a in op.attributes}).item())
        np.testing.assert_allclose(compiled(*[a.item() for a in arrays]), want, rtol=1e-14, err_msg=str(arrays))
