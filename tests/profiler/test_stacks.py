"""Python's stack as a flame track."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from perflab.profiler import ProfilerError, ProfileStateError, chrome, profile
from perflab.profiler.importers import read as read_any
from perflab.runtime import _core


def outer(seconds: float) -> None:
    inner(seconds)


def inner(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def test_functions_lie_in_those_that_called_them(tmp_path: Path) -> None:
    with profile(with_stack=True) as prof:
        outer(0.1)
        time.sleep(0.01)
    trace = prof.trace
    trace.check()
    slices = trace.slices
    rows = {name: trace.select(category="python_function", name=name) for name in ("outer", "inner")}
    assert slices.duration[rows["inner"]].sum() > 50_000_000
    assert {trace.strings[slices.name[slices.parent[row]]] for row in rows["inner"]} == {"outer"}
    track = trace.tracks[slices.track[rows["inner"][0]]]
    assert track.name == "MainThread Python"
    args = trace.args_of(int(rows["inner"][0]))
    assert args == {"file": __file__, "line": inner.__code__.co_firstlineno}
    prof.export_chrome_trace(tmp_path / "trace.json")
    again = chrome.read(tmp_path / "trace.json")
    assert again.slices.duration.tolist() == slices.duration.tolist()
    prof.export_stacks(tmp_path / "stacks.pyisession")
    loaded = read_any(tmp_path / "stacks.pyisession").trace
    of_inner = loaded.select(name="inner")
    assert set(loaded.name_of(loaded.slices.parent[of_inner].tolist())) == {"outer"}


def test_without_it_there_are_no_samples(tmp_path: Path) -> None:
    with profile() as prof:
        inner(0.005)
    assert len(prof.trace.select(category="python_function")) == 0
    with pytest.raises(ProfileStateError, match=r"say profile\(with_stack=True\)"):
        prof.export_stacks(tmp_path / "none")


def test_without_pyinstrument_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyinstrument", None)
    prof = profile(with_stack=True)
    with pytest.raises(ProfilerError, match=r"pip install 'perflab\[stacks\]'"):
        prof.start()
    with profile():
        pass


def test_another_thread_that_stops_it_loses_the_samples() -> None:
    """The sampler belongs to a thread; all else ends, and the trace is there."""

    def start() -> profile:
        return profile(with_stack=True).__enter__()

    with ThreadPoolExecutor(1) as pool:
        prof = pool.submit(start).result()
        with pytest.warns(RuntimeWarning, match="stopped on another thread"):
            prof.stop()
        assert pool.submit(lambda: 1 + 1).result() == 2
    assert len(prof.trace.select(category="python_function")) == 0
    assert not _core.is_recording()
    with pytest.raises(ProfileStateError, match="no samples"):
        prof.export_stacks("never written")


def test_a_dump_cannot_read_them() -> None:
    with profile(with_stack=True) as prof, pytest.raises(ProfileStateError, match="leave them out"):
        prof.dump()
