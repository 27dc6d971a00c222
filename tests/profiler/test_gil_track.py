"""The GIL's records on the timeline."""

import hashlib
import json
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perflab.profiler import Trace, Track, chrome, profile
from perflab.profiler.analysis.gil import THREAD, GilWait, gil_waits
from perflab.profiler.conversion import to_trace
from perflab.profiler.events import EVENT, GIL, GIL_HOLD, GIL_WAITING
from perflab.profiler.gil_track import GilRecord
from perflab.profiler.recording import Clock, Recording

from .same import told

# wait, acquired, requested, released, thread, flags
HOLDS = [
    (100, 100, 0, 120, 7, 0),
    (130, 130, 180, 200, 8, 0),  # asked to let go at 180, and did at 200
    (140, 210, 0, 260, 7, 0),  # waited for the one before
    (150, 270, 0, 280, 9, 0),  # waited for it too, while another went first
    (280, 280, 0, 280, 9, 0),
    (285, 290, 0, 400, 8, 0),  # nobody held it: it waited for a lock of Python's own
    (300, 400, 0, 400, 9, GIL_WAITING),
]


def records(rows: list[tuple[int, ...]]) -> Any:
    return np.array([(*row, 0) for row in rows], dtype=GIL_HOLD)


def convert(holds: Any, events: list[tuple[int, dict[str, int]]] = ()) -> Trace:  # type: ignore[assignment]
    recorded = []
    for thread, fields in events:
        array = np.zeros(1, dtype=EVENT)
        for name, value in fields.items():
            array[name] = value
        recorded.append((thread, array))
    recording = Recording(
        events=recorded,
        clock=Clock(0, 0, 1.0),
        pid=7,
        ops=[],
        dtypes=[],
        strings=["", "hook"],
        shapes=[()],
        threads={7: "MainThread", 8: "loader"},
        gil=GilRecord(holds),
    )
    trace = to_trace(recording)
    trace.check()
    return trace


def gil_slices(trace: Trace) -> list[tuple[str, str, int, int]]:
    """Track, name, start and end of each slice of the GIL."""
    columns, rows = trace.slices, trace.select(category="gil").tolist()
    return [
        (trace.tracks[columns.track[row]].name, name, int(columns.start[row]) + 100, int(columns.end[row]) + 100)
        for row, name in zip(rows, trace.name_of(rows), strict=True)
    ]


def test_every_thread_has_a_track_of_waits_and_holds() -> None:
    trace = convert(records(HOLDS))
    assert gil_slices(trace) == [
        ("MainThread GIL", "GIL held", 100, 120),
        ("loader GIL", "GIL held", 130, 200),
        ("MainThread GIL", "GIL wait", 140, 210),
        ("thread 9 GIL", "GIL wait", 150, 270),
        ("MainThread GIL", "GIL held", 210, 260),
        ("thread 9 GIL", "GIL held", 270, 280),
        ("thread 9 GIL", "GIL held", 280, 280),
        ("loader GIL", "GIL wait", 285, 290),
        ("loader GIL", "GIL held", 290, 400),
        ("thread 9 GIL", "GIL wait", 300, 400),
    ]
    assert Track(7, 10_000_007, "MainThread GIL", "python") in trace.tracks
    assert trace.args_of(1) == {THREAD: 8, "Drop request ignored (ns)": 20}
    assert trace.args_of(0) == {THREAD: 7}


def test_an_arrow_leads_from_each_wait_to_the_hold_it_waited_for() -> None:
    trace = convert(records(HOLDS))
    arrows = list(zip(trace.flows.source.tolist(), trace.flows.target.tolist(), strict=True))
    assert arrows == [(2, 1), (3, 1), (9, 8)]
    assert {trace.strings[name] for name in trace.flows.name} == {"gil"}


def test_in_a_file_arrows_do_not_go_back_in_time(tmp_path: Path) -> None:
    """Perfetto drops those that do. The arrow ends in the midst of the hold, at the moment of asking."""
    trace = convert(records(HOLDS))
    chrome.write(trace, tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    arrows = [(one["ph"], one["tid"] - 10_000_000, one["ts"]) for one in events if one["ph"] in "sf"]
    assert arrows == [
        *(("s", 7, 0.04), ("f", 8, 0.04)),
        *(("s", 9, 0.05), ("f", 8, 0.05)),
        *(("s", 9, 0.2), ("f", 8, 0.2)),
    ]
    again = chrome.read(tmp_path / "trace.json")
    assert told(again)["flows"] == told(trace)["flows"]


def test_perflabs_own_acquisitions_say_why() -> None:
    own = [
        (7, {"kind": GIL, "t0": 139, "t1": 212, "t2": 255, "name": 1}),
        (9, {"kind": GIL, "t0": 500, "t1": 500, "t2": 500, "name": 1}),  # later than any: of nobody
    ]
    trace = convert(records(HOLDS), own)
    assert [one[:2] for one in gil_slices(trace) if one[1].endswith("hook")] == [
        ("MainThread GIL", "GIL wait: hook"),
        ("MainThread GIL", "GIL held: hook"),
    ]
    main = trace.tracks.index(Track(7, 7, "MainThread", "python"))
    assert GilWait(main, 40, 70, 50, "hook") in gil_waits(trace)


def test_pages_are_cut_where_it_is_held_often(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = convert(records(HOLDS))
    monkeypatch.setattr("perflab.profiler.gil_track._PAGE", 2)
    assert told(convert(records(HOLDS))) == told(whole)


def test_nothing_traced_is_an_empty_track() -> None:
    assert gil_slices(convert(records([]))) == []
    assert gil_slices(convert(None)) == []


def test_a_profile_holds_the_gil_of_every_thread(tmp_path: Path) -> None:
    data = b"x" * (1 << 20)
    stop = threading.Event()

    def spin() -> None:
        while not stop.is_set():
            pass

    def digest() -> None:
        for _ in range(20):
            hashlib.sha256(data).digest()
            time.sleep(0.001)
        stop.set()

    threads = [threading.Thread(target=spin, name="spinner"), threading.Thread(target=digest, name="hasher")]
    with profile() as prof:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    trace = prof.trace
    trace.check()
    assert trace.metadata["gil"] == "exact"
    waits = gil_waits(trace)
    by_name: dict[str, list[GilWait]] = {}
    for wait in waits:
        by_name.setdefault(trace.tracks[wait.track].name.removesuffix(" GIL"), []).append(wait)
    assert {threading.current_thread().name, "spinner", "hasher"} <= set(by_name)
    assert len(by_name["hasher"]) >= 40, "each digest and each sleep gives it away"
    holds = sorted((wait.start + wait.wait_ns, wait.start + wait.wait_ns + wait.hold_ns) for wait in waits)
    assert all(one[1] <= other[0] for one, other in pairwise(holds)), "two holders at once"
    assert len(trace.flows) >= 20, "waits lead to their holders"
    path = tmp_path / "trace.json.gz"
    prof.export_chrome_trace(path)
    again, written = told(chrome.read(path)), told(trace)
    assert {key: again[key] for key in ("slices", "names", "flows")} == {
        key: written[key] for key in ("slices", "names", "flows")
    }
