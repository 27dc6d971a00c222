"""profile() against a core that counts its own ticks: what is recorded, when, and what is thrown away."""

import gc
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from perflab.profiler import (
    ProfilerError,
    ProfileStateError,
    chrome,
    profile,
    schedule,
    window,
)
from perflab.profiler.analysis.steps import steps

from .fake_core import FakeCore, ops


def test_without_a_schedule_everything_is_recorded(core: FakeCore) -> None:
    core.op(0)
    with profile(metadata={"commit": "abc"}) as prof:
        core.op(1)
        core.op(2)
    core.op(3)
    assert ops(prof) == ["op1", "op2"]
    assert prof.trace.metadata["commit"] == "abc"
    assert set(prof.trace.metadata["versions"]) >= {"python", "numpy"}
    assert [row.name for row in prof.key_averages()] == ["op1", "op2"]
    assert prof.trace is prof.trace


def test_an_exception_ends_the_window_and_passes(core: FakeCore) -> None:
    with pytest.raises(KeyError), profile() as prof:
        core.op(1)
        raise KeyError
    assert ops(prof) == ["op1"]


def test_a_recorder_that_somebody_else_runs_is_left_alone(core: FakeCore) -> None:
    core.recorder_start(10)
    with pytest.raises(ProfileStateError, match="something else records"), profile():
        pass
    core.recorder_stop()


def test_the_trace_is_exported(core: FakeCore, tmp_path: Path) -> None:
    with profile() as prof:
        core.op(1)
    for name in ("trace.json", "trace.json.gz"):
        prof.export_chrome_trace(tmp_path / name)
        assert chrome.read(tmp_path / name).name_of([0]) == ["op1"]


def test_dropped_events_are_told(core: FakeCore, monkeypatch: pytest.MonkeyPatch) -> None:
    with profile() as prof:
        monkeypatch.setattr(core, "recorder_dropped", lambda: 12)
    assert prof.trace.metadata["droppedEvents"] == 12
    assert prof.trace.metadata["maxEvents"] == 10_000_000
    assert "12 events were dropped (max_events was 10,000,000): " in prof.key_averages().table()


def test_torch_that_is_not_there_is_named_and_nothing_is_left_on(
    core: FakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ProfilerError, match=r"PyTorch is not installed: pip install 'perflab\[torch\]'"):
        with profile(torch=True):
            pass
    assert not core.recording
    with profile() as prof:
        core.op(1)
    assert ops(prof) == ["op1"]


def test_what_cannot_begin_leaves_nothing_on(core: FakeCore, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no")

    before = list(gc.callbacks)
    monkeypatch.setattr(window, "GarbageRecorder", refuse)
    prof = profile()
    with pytest.raises(OSError, match="no"):
        prof.start()
    assert not core.recording and gc.callbacks == before
    with pytest.raises(ProfileStateError):
        prof.step()


def test_a_profile_that_is_stopped_twice_or_never_began(core: FakeCore) -> None:
    windows: list[list[str]] = []
    prof = profile(on_trace_ready=lambda prof: windows.append(ops(prof)))
    prof.stop()
    with prof:
        core.op(1)
        prof.stop()
        core.op(2)
    prof.stop()
    assert windows == [["op1"]]


def test_a_profile_in_a_generator_ends_with_it(core: FakeCore) -> None:
    found: list[profile] = []

    def batches() -> Iterator[int]:
        with profile() as prof:
            found.append(prof)
            for number in range(3):
                core.op(number)
                yield number
                prof.step()

    for _ in batches():
        pass
    assert ops(found[0]) == ["op0", "op1", "op2"] and len(steps(found[0].trace)) == 3
    for number in batches():
        if number == 1:
            break  # the generator is closed where nobody holds it any longer
    assert ops(found[1]) == ["op0", "op1"] and "reason" not in found[1].trace.metadata


def test_an_exception_is_the_reason(core: FakeCore) -> None:
    with pytest.raises(ValueError, match="loss is nan"), profile() as prof:
        core.op(1)
        raise ValueError("loss is nan")
    assert prof.trace.metadata["reason"] == "ValueError: loss is nan"


def test_a_dump_goes_on(core: FakeCore) -> None:
    saved: list[tuple[list[str], object]] = []
    ready = lambda prof: saved.append((ops(prof), prof.trace.metadata.get("reason")))  # noqa: E731
    with profile(on_trace_ready=ready) as prof:
        core.op(1)
        prof.dump("look here")
        core.op(2)
    assert saved == [(["op1"], "look here"), (["op1", "op2"], None)]
    with pytest.raises(ProfileStateError, match="nothing is now"):
        prof.dump()
    with profile(schedule=schedule(wait=1, warmup=0, active=1)) as prof, pytest.raises(ProfileStateError, match="now"):
        prof.dump()


def test_several_threads_may_stop_one_profile(core: FakeCore) -> None:
    windows: list[list[str]] = []
    with profile(on_trace_ready=lambda prof: windows.append(ops(prof))) as prof:
        core.op(1)
        together = threading.Barrier(4)

        def stop() -> None:
            together.wait()
            prof.stop()

        threads = [threading.Thread(target=stop) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert windows == [["op1"]]


def test_the_limit_is_at_least_one() -> None:
    with pytest.raises(ValueError, match="max_events is 0; keep at least one"):
        profile(max_events=0)
