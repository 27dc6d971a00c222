import io
import json
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflab.profiler import Trace, chrome, pages, stretches
from perflab.profiler.chrome_write import encode
from perflab.profiler.conversion import to_pages, to_trace
from perflab.profiler.events import (
    ALLOC,
    ANNOTATION,
    COMPOSITE,
    EDGE,
    EVENT,
    FREE,
    GIL,
    LEAF,
    NODE,
    OP,
    OUTPUT_ALLOCATED,
    STEP_MARK,
    TO_LEAF,
)
from perflab.profiler.pages import pages_of, trace_of
from perflab.profiler.recording import Clock, Recording
from perflab.profiler.stretches import Placed, cut

KERNEL = 1 | 3 << 3


def same(one: Trace, other: Trace) -> None:
    assert (one.tracks, one.metadata) == (other.tracks, other.metadata)
    texts = [np.array([*trace.strings, ""]) for trace in (one, other)]
    for kind in ("slices", "instants", "counters", "flows"):
        for column in fields(getattr(one, kind)):
            mine, theirs = (getattr(getattr(trace, kind), column.name) for trace in (one, other))
            if column.name in ("name", "category"):
                mine, theirs = (text[ids] for text, ids in zip(texts, (mine, theirs), strict=True))
            assert mine.tolist() == theirs.tolist(), (kind, column.name)
    for kind in ("slice_args", "instant_args"):
        mine, theirs = getattr(one, kind), getattr(other, kind)
        used = {key for key in {*mine, *theirs} if len(mine.get(key, ())) or len(theirs.get(key, ()))}
        assert {key: list(mine[key]) for key in used} == {key: list(theirs[key]) for key in used}


@st.composite
def recordings(draw: st.DrawFn) -> Recording:
    """Threads of nested work in the recorder's order: what encloses others comes behind them."""
    threads = []
    sequence, places = 0, 64
    for thread in range(40, 40 + draw(st.integers(0, 3))):
        rows: list[dict[str, int]] = []
        alive: list[int] = []
        now = draw(st.integers(0, 30))
        outer = now
        for _ in range(draw(st.integers(0, 12))):
            kind = draw(
                st.sampled_from([OP, OP, OP, NODE, LEAF, ALLOC, FREE, GIL, COMPOSITE, ANNOTATION, STEP_MARK, 0])
            )
            begin, middle, end = (now := now + draw(st.integers(0, 4)) for _ in range(3))
            row = {"kind": kind, "t0": begin, "t1": middle, "t2": end, "bytes": 8, "address": 64}
            if kind == OP:
                sequence += 1
                row |= {"sequence": sequence, "flags": draw(st.sampled_from([0, KERNEL, KERNEL | OUTPUT_ALLOCATED]))}
                row |= {"shapes": draw(st.integers(0, 1)), "scope": draw(st.integers(0, 2))}
            elif kind == NODE:
                row |= {"t1": 0, "sequence": draw(st.integers(0, 6))}
                behind = [{"flags": 0, "address": draw(st.integers(1, 6))}, {"flags": TO_LEAF, "address": 64}]
                edges = [row | {"kind": EDGE} | edge for edge in behind[: draw(st.integers(0, 2))]]
            elif kind in (ALLOC, FREE):
                row |= {"t1": 0, "t2": begin}
            elif kind != GIL:
                row |= {"t1": 0, "t0": outer}
            # no two blocks are at one place, and each goes once
            if kind == ALLOC or (kind == OP and row["flags"] & OUTPUT_ALLOCATED):
                row["address"] = places = places + 64
                alive.append(places)
            elif kind == FREE:
                row["address"] = alive.pop() if alive else 0
            rows.append(row)
            if kind == NODE:
                rows.extend(edges)
        events = np.zeros(len(rows), dtype=EVENT)
        for place, row in enumerate(rows):
            for name, value in row.items():
                events[name][place] = value
        threads.append((thread, events))
    return Recording(
        events=threads,
        clock=Clock(0, 10**18, draw(st.sampled_from([1.0, 0.4]))),
        pid=40,
        ops=["add"],
        dtypes=["bool", "int32", "int64", "float32"],
        strings=["", "forward", "silu"],
        shapes=[(), (("float32", (2, 3)),)],
        allocated_bytes=1000,
        reserved=[(0, 64), (20, 128), (90, 256)],
    )


@given(recordings(), st.integers(1, 5))
def test_the_size_of_the_pieces_does_not_show(recording: Recording, size: int) -> None:
    whole = to_trace(recording)
    whole.check()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stretches, "_PIECE", size)
        same(to_trace(recording), whole)
        written = b"".join(encode(to_pages(recording)))
    again = chrome.read(io.BytesIO(written))
    again.check()
    for column in ("start", "duration", "depth", "parent"):
        assert np.array_equal(getattr(again.slices, column), getattr(whole.slices, column))
    assert again.name_of(range(len(again.slices))) == whole.name_of(range(len(whole.slices)))
    assert len(again.flows) == len(whole.flows)
    assert again.instants.time.tolist() == whole.instants.time.tolist()
    moments = [round(event["ts"] * 1000) for event in json.loads(written)["traceEvents"] if event["ph"] != "M"]
    assert moments == sorted(moments)


@given(recordings(), st.integers(1, 5))
def test_a_trace_cut_and_joined_is_the_same(recording: Recording, size: int) -> None:
    trace = to_trace(recording)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "_PAGE", size)
        same(trace_of(pages_of(trace)), trace)


def test_pieces_go_when_all_of_their_events_have_come() -> None:
    events = np.zeros(4 * stretches._PIECE, dtype=EVENT)
    events["kind"], events["t0"] = OP, np.arange(len(events))
    events["t0"][-1] = 0  # encloses the others: it was recorded last
    found = [Placed(piece, *(int(piece.events["t0"][at]) for at in (0, 0, -2))) for piece in cut([(7, events)])]
    found[-1] = Placed(found[-1].piece, found[-1].first, 0, found[-1].high)
    left, sizes, begun = [], [], []
    for stretch, until in stretches.stretches(found, lambda ticks: ticks):
        left.append(len(found))
        sizes.append(len(stretch))
        begun.append(bool(np.all(stretch["t0"] < until)))
    assert left == [4, 3, 2, 1]
    assert sizes == [stretches._PIECE + 1, *[stretches._PIECE] * 2, stretches._PIECE - 1]
    assert all(begun)
    assert not found


def test_reading_and_analysing_need_no_runtime() -> None:
    program = (
        "import sys; from perflab.profiler import TraceBuilder, chrome;"
        " from perflab.profiler.analysis.summary import summarize; summarize(TraceBuilder().build());"
        " sys.exit('perflab.runtime' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
