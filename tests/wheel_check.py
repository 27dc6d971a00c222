"""Run by `make wheel-test` with the Python of a clean environment in which only the wheel is installed."""

import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from perflab import runtime as rt
from perflab.server.settings import Settings
from perflab.server.store import Store

x = rt.tensor([1.0, 2.0], requires_grad=True)
(x * x).sum().backward()
assert x.grad is not None and x.grad.tolist() == [2.0, 4.0], x.grad

site = Path(sysconfig.get_path("purelib"))
assert rt.__file__ is not None and Path(rt.__file__).is_relative_to(site), rt.__file__
shipped = {path.relative_to(site / "perflab").parts[0] for path in (site / "perflab").glob("*/py.typed")}
assert shipped == {"runtime", "profiler", "dashboards", "server", "benchmarks"}, shipped
sources = [
    path for path in (site / "perflab").rglob("*") if path.suffix in {".cpp", ".h"} or path.name.startswith("test_")
]
assert not sources, sources
assert (site / "perflab/runtime/cuda/kernels/prelude.cuh").exists()

with tempfile.TemporaryDirectory() as folder:  # its tables are made by the migrations
    store = Store.open(Settings(Path(folder, "lab")), create=True)
    assert store.projects() == []
    store.close()

usage = subprocess.run(
    [Path(sys.prefix, "bin", "perflab"), "--help"], capture_output=True, text=True, check=True
).stdout
assert "gate" in usage, usage
print("The wheel installs, computes a gradient, makes a lab, and answers perflab --help.")
