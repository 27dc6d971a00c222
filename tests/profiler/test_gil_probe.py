"""Where the GIL cannot be traced a probe samples it, and the trace says so."""

import os
import time
from collections.abc import Iterator

import pytest

from perflab.dashboards import gil as page
from perflab.profiler import profile
from perflab.profiler.analysis.contention import gil_threads
from perflab.profiler.analysis.gil import PROBE, gil_waits
from perflab.profiler.gil import GilRecorder
from perflab.profiler.report.answers import answers
from perflab.profiler.report.sections import sections
from perflab.runtime import _core


@pytest.fixture(autouse=True)
def refused(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refuse(room: int) -> None:
        raise RuntimeError("no hooks here")

    monkeypatch.setattr(_core, "GilTrace", refuse)
    monkeypatch.setattr("perflab.profiler.gil._warned", True)
    yield


def probes(recorder: GilRecorder) -> int:
    return int(recorder.stop().notes["gilProbes"])  # type: ignore[call-overload]


def test_the_probe_waits_while_python_computes() -> None:
    probe = _core.GilProbe(0.001)
    try:
        with profile() as prof:
            before = probe.samples
            while probe.samples < before + 3:  # each of them has to take the GIL from this loop
                pass
            end = time.monotonic() + 0.05
            while time.monotonic() < end:
                pass
    finally:
        probe.stop()
    trace = prof.trace
    trace.check()
    assert trace.metadata["gil"] == "sampled"
    assert trace.metadata["gilRefusal"] == "no hooks here"
    by_thread = {wait.track: [] for wait in gil_waits(trace)}
    for wait in gil_waits(trace):
        by_thread[wait.track].append(wait)
    (ours,) = (waits for track, waits in by_thread.items() if trace.tracks[track].tid == probe.thread)
    assert {wait.reason for wait in ours} == {"probe"}
    assert sum(wait.wait_ns > 0 for wait in ours) >= 3
    assert "sampl" in page.note(trace, gil_threads(trace))


def test_the_thread_of_the_samples_has_a_name_and_ends() -> None:
    with profile() as prof:
        while not any(PROBE == name for name in names()):
            time.sleep(0.001)
        time.sleep(0.05)
    assert not any(PROBE == name for name in names())
    assert prof.trace.metadata["gilProbes"] >= 0
    assert "The GIL could not be traced" in " ".join(sections(answers(prof.trace))[0].sentences)


def names() -> list[str]:
    found = []
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/comm", encoding="utf-8") as file:
                found.append(file.read().strip())
        except FileNotFoundError:
            pass
    return found


def test_stopping_twice_and_in_a_forked_child() -> None:
    probe = _core.GilProbe(0.001)
    child = os.fork()
    if not child:
        probe.stop()
        del probe
        with profile() as prof:
            pass
        os._exit(0 if prof.trace.metadata["gil"] == "sampled" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    probe.stop()
    taken = probe.samples
    probe.stop()
    assert probe.samples == taken


def test_it_samples_once_a_moment() -> None:
    recorder = GilRecorder()
    while recorder._probe is not None and recorder._probe.samples < 2:
        time.sleep(0.001)
    assert probes(recorder) >= 2
