"""A third party's suite of pytest-benchmark, unchanged: cattrs's own, which `make test` fetches into build/suite."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Perflab

# Its clock is its own, so that the verdict is of the way from the suite to the gate, and not of this machine's noise.
CLOCK = """
import itertools

ticks = itertools.count()

def read():
    return next(ticks) / 1024
"""
# cattrs's configuration asks for groups, sorting and a warm-up besides
ARGUMENTS = ("--benchmark-timer=clock.read", "--benchmark-calibration-precision=1", "--benchmark-max-time=0.01")
SOME = ("bench/test_primitives.py", "bench/test_tuples.py")  # the others import more packages
BENCHMARKS = 14
PROCESSES = 6  # of each side, as many as so many benchmarks need


@pytest.fixture
def suite(root: Path) -> Path:
    folder = root / "build/suite"
    if not (folder / ".made").exists():
        pytest.skip("cattrs's benchmarks are not in build/suite: make build/suite/.made")
    return folder


def test_it_runs_as_it_is_and_against_itself_it_passes(suite: Path, perflab: Perflab) -> None:
    here = Path.cwd()
    (here / "clock.py").write_text(CLOCK)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", *SOME, "-p", "no:cacheprovider", "-p", "benchmark", "-p", "perflab"),
            *(*ARGUMENTS, "--perflab", str(here / "base"), "--perflab-processes", str(2 * PROCESSES)),
        ],
        cwd=suite,
        # other plugins take a second of each process
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": f"{suite / 'src'}{os.pathsep}{here}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"process {2 * PROCESSES} of {2 * PROCESSES}: {BENCHMARKS} benchmarks" in done.stdout
    (here / "head").mkdir()
    for path in sorted((here / "base").iterdir())[1::2]:
        shutil.move(path, here / "head")
    code, out, _ = perflab("gate", "--baseline", "base", "--head", "head")
    assert code == 0, out
    assert f"passed, {BENCHMARKS} benchmarks" in out
    assert "bench/test_tuples.py::test_" in out
