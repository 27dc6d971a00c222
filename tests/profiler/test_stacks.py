"""Python's stack as a flame track."""

import itertools
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.profiler import ProfilerError, ProfileStateError, TraceBuilder, Track, chrome, profile
from perflab.profiler.importers import read as read_any
from perflab.profiler.stack_track import StackRecord, StackTrack
from perflab.runtime import _core

SAMPLES = 30


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


def test_another_thread_that_stops_it_loses_the_samples_of_a_thread() -> None:
    """But for the main one's, pyinstrument's sampler belongs to a thread; all else ends, and the trace is there."""

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


def sampled(work: Callable[[], object], samples: int = SAMPLES) -> _core.StackSampler:
    """What a sampler of this thread saw of `work` again and again."""
    sampler = _core.StackSampler(0.001)
    while len(sampler.samples()) < samples:
        for _ in range(10):
            work()
    sampler.stop()
    return sampler


def innermost(sampler: _core.StackSampler) -> Counter[str]:
    stacks = sampler.stacks()
    return Counter(stacks[number - 1][0][2].rpartition(".")[2] for _, number in sampler.samples())


def begins_only() -> None:
    pass


def operators(x: rt.Tensor) -> rt.Tensor:
    return x @ x


class Model:
    def forward(self) -> int:
        return sum(range(1000))


def test_samples_are_an_interval_apart_and_each_is_taken_once() -> None:
    began = time.perf_counter()
    sampler = sampled(begins_only)
    elapsed_ms = (time.perf_counter() - began) * 1000
    samples = sampler.samples()
    assert SAMPLES <= len(samples) <= elapsed_ms + 1
    assert all(before < after for (before, _), (after, _) in itertools.pairwise(samples))
    assert sampler.spent > 0
    sampler.stop()
    for _ in range(100_000):
        begins_only()
    assert sampler.samples() == samples


def test_the_time_before_a_function_begins_is_its_callers() -> None:
    """All that Python looks at in this one is its begin."""
    found = innermost(sampled(begins_only))
    assert found["begins_only"] == 0 and found["sampled"] > 0


@pytest.mark.parametrize("size", [128, 768])  # while the longer one computes the GIL is free
def test_what_an_operator_computes_is_of_the_function_that_has_it(size: int) -> None:
    """Python itself does not look between an operator and the return: the op that is recorded does."""
    x = rt.ones((size, size))
    with profile():
        found = innermost(sampled(lambda: operators(x)))
    assert found["operators"] > SAMPLES / 2


def numpy_operator(a: np.ndarray) -> np.ndarray:
    return a @ a


def test_what_computes_without_the_gil_is_seen_while_it_does() -> None:
    """NumPy's operators tell nobody when they end. It lets the GIL go; from Python 3.13 on that is not to be seen."""
    a = np.ones((1200, 1200))
    found = innermost(sampled(lambda: numpy_operator(a), 10))
    if sys.version_info < (3, 13):
        assert found["numpy_operator"] > 0


def test_a_method_is_of_its_class_and_on_its_line() -> None:
    sampler = sampled(Model().forward)
    line = Model.forward.__code__.co_firstlineno
    assert (__file__, line + 1, "Model.forward", line) in [stack[0] for stack in sampler.stacks()]
    with profile(with_stack=True) as prof:
        sampled(Model().forward)
    assert prof._stacks is not None
    frames = {frame for stack, _ in prof._stacks.session.frame_records for frame in stack}
    assert f"forward\0{__file__}\0{line}\x01cModel\x01l{line + 1}" in frames


def test_the_slices_last_as_long_as_the_samples() -> None:
    with profile(with_stack=True) as prof:
        sampled(begins_only)
    assert prof._stacks is not None
    session = prof._stacks.session
    assert session.sample_count == len(session.frame_records)
    slices = prof.trace.slices
    rows = prof.trace.select(category="python_function")
    outermost = rows[slices.parent[rows] < 0]
    seconds = sum(seconds for _, seconds in session.frame_records)
    assert slices.duration[outermost].sum() == pytest.approx(seconds * 1e9, abs=session.sample_count)


def test_any_thread_may_stop_what_the_main_thread_began() -> None:
    with ThreadPoolExecutor(1) as pool:
        prof = profile(with_stack=True).__enter__()
        sampled(begins_only)
        pool.submit(prof.stop).result()
    assert threading.current_thread() is threading.main_thread()
    assert len(prof.trace.select(category="python_function", name="sampled")) > 0


def test_profiles_inside_each_other_sample_for_themselves() -> None:
    with profile(with_stack=True) as outer_prof:
        with profile(with_stack=True) as inner_prof:
            sampled(begins_only)
        sampled(Model().forward)
    of_inner, of_outer = (
        set(prof.trace.name_of(prof.trace.select(category="python_function"))) for prof in (inner_prof, outer_prof)
    )
    assert "sampled" in of_inner and "forward" not in of_inner
    assert {"sampled", "forward"} <= of_outer


FORKS = """
import os, warnings
from perflab.profiler import profile

def spin():
    for _ in range(200): sum(range(2000))

def has_samples(prof):
    return len(prof.trace.select(category="python_function", name="spin")) > 0

def until_sampled():
    while True:
        with profile(with_stack=True) as prof:
            spin()
        if has_samples(prof): return

warnings.simplefilter("ignore")  # of forks with threads
prof = None
while not prof or not has_samples(prof):  # of which a busy machine may leave none
    with profile(with_stack=True) as prof:
        spin()
        for _ in range(5):
            child = os.fork()
            if not child:
                spin()
                until_sampled()
                os._exit(0)
            spin()
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
until_sampled()
"""


def test_forked_children_and_their_parent_go_on() -> None:
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_profilers_own_frames_at_the_end_of_a_stack_are_one() -> None:
    from perflab.profiler import session, window

    main, step, close, wait = (
        f"{name}\0{file}\0" + "12"
        for name, file in (
            ("main", "/x/train.py"),
            ("step", session.__file__),
            ("close", window.__file__),
            ("wait", "/x"),
        )
    )
    stacks = ([main], [main, step, close], [main, step, wait], [main, wait])
    record = SimpleNamespace(frame_records=[(stack, 0.001) for stack in stacks])
    builder = TraceBuilder()
    number = builder.track(Track(1, 1))
    track = StackTrack(StackRecord(1, 0, record), builder, lambda ticks: ticks, lambda thread: number)  # type: ignore[arg-type]
    track.add(float("inf"))
    trace = builder.build()
    slices = trace.slices
    found = list(zip(trace.name_of(range(len(slices))), slices.start.tolist(), slices.duration.tolist(), strict=True))
    assert found == [
        ("main", 0, 4_000_000),
        ("(recording)", 1_000_000, 1_000_000),
        ("step", 2_000_000, 1_000_000),  # it has called what is not the profiler's, such as on_trace_ready
        ("wait", 2_000_000, 1_000_000),
        ("wait", 3_000_000, 1_000_000),
    ]
