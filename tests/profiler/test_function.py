"""@profile_function, and the cell magic."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perflab import runtime as rt
from perflab.profiler import chrome, profile, profile_function
from perflab.profiler.analysis.averages import key_averages


def ops(prof: profile) -> dict[str, int]:
    return {row.name: row.count for row in prof.key_averages()}


def test_each_call_is_a_profile_and_is_told_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    @profile_function
    def product(n: int) -> float:
        """Multiplies."""
        return float((rt.ones(n, n) @ rt.ones(n, n)).sum().item())

    assert (product(2), product(n=3)) == (8.0, 27.0)
    assert (product.__name__, product.__doc__) == ("product", "Multiplies.")
    out, told = capsys.readouterr()
    assert out == ""
    assert told.count("test_each_call_is_a_profile_and_is_told_on_stderr.<locals>.product\n") == 2
    assert told.count("matmul") >= 2 and "\x1b" not in told


def test_options_are_those_of_profile() -> None:
    found: list[profile] = []

    @profile_function(on_trace_ready=found.append, metadata={"commit": "abc"}, with_stack=False)
    def count(n: int) -> int:
        for _ in range(n):
            rt.exp(rt.ones(2))
        return n

    assert [count(2), count(5)] == [2, 5]
    assert [ops(prof)["exp"] for prof in found] == [2, 5]
    assert found[0].trace.metadata["commit"] == "abc"
    with pytest.raises(TypeError, match="no_such_option"):
        profile_function(no_such_option=1)(count)


def test_calls_within_a_call_belong_to_it_and_exceptions_pass() -> None:
    found: list[profile] = []

    @profile_function(on_trace_ready=found.append)
    def down(n: int) -> None:
        rt.exp(rt.ones(2))
        if not n:
            raise KeyError("the end")
        down(n - 1)

    for _ in range(2):
        with pytest.raises(KeyError, match="the end"):
            down(3)
    assert [ops(prof)["exp"] for prof in found] == [4, 4]


def test_threads_have_profiles_of_their_own() -> None:
    found: list[profile] = []
    both = threading.Barrier(2)

    @profile_function(on_trace_ready=found.append, with_stack=False)
    def meet() -> None:
        both.wait()

    threads = [threading.Thread(target=meet) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2


def test_coroutines_are_profiled_until_they_end() -> None:
    found: list[profile] = []

    @profile_function(on_trace_ready=found.append, with_stack=False)
    async def load(n: int) -> int:
        await asyncio.sleep(0)
        rt.exp(rt.ones(n))
        return n

    assert asyncio.run(load(3)) == 3
    assert ops(found[0])["exp"] == 1


def test_generators_are_refused() -> None:
    def numbers() -> Iterator[int]:
        yield 1

    with pytest.raises(TypeError, match="numbers makes a generator: profile what consumes it"):
        profile_function(numbers)


CELLS = r"""
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")
shell.run_line_magic("load_ext", "perflab.profiler")
for cell in (
    "from perflab import runtime as rt",
    "%%profile -o cell.json.gz prof\nx = rt.ones(3, 3)\nfor _ in range(4):\n    y = rt.exp(x)\ny.shape",
    "%%profile\n1 / 0",
    "%%profile --no-such-option\n1",
):
    shell.run_cell(cell)
print("ops", {row.name: row.count for row in shell.user_ns["prof"].key_averages()}["exp"], shell.user_ns["x"].shape)
"""


def test_the_cell_magic(tmp_path: Path) -> None:
    pytest.importorskip("IPython")
    (tmp_path / "cells.py").write_text(CELLS)
    environment: dict[str, Any] = {**os.environ, "IPYTHONDIR": str(tmp_path / "ipython")}
    command = [sys.executable, "cells.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert "]: (3, 3)" in done.stdout
    assert done.stdout.count("The cell\n") == 2 and "in all, " in done.stdout and "exp" in done.stdout
    assert "ZeroDivisionError" in done.stdout
    assert "unrecognized arguments: --no-such-option" in done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "ops 4 (3, 3)"
    averages = key_averages(chrome.read(tmp_path / "cell.json.gz"))
    assert {row.name: row.count for row in averages}["exp"] == 4
