import gzip
import io
import json
import math
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflab.profiler import Trace, TraceBuilder, Track, chrome, chrome_write
from perflab.profiler.chrome_write import encode

TRACKS = (
    Track(71, 71, "main", "python"),
    Track(71, 72, 'a "quoted" \\ thread', "python"),
    Track("Spans", "stream 7", "", "other"),
    Track(2, -5, "", ""),
)
# Not in names: lone surrogates, which the builder turns into escapes (test_trace.py)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()
values = st.recursive(
    st.none() | numbers | text,
    lambda value: st.lists(value, max_size=3) | st.dictionaries(text, value, max_size=2),
    max_leaves=5,
)
args = st.dictionaries(st.sampled_from(["n", "Input Dims", 'key "q"', ""]), values, max_size=3)
times = st.integers(-(10**6), 10**6) | st.integers(0, 10**15)
tracks = st.sampled_from(TRACKS)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    builder = TraceBuilder(draw(st.dictionaries(st.sampled_from(["commit", "machine"]), values)))
    builder.metadata["baseTimeNanoseconds"] = draw(st.integers(0, 2**62))
    count = draw(st.integers(0, 12))
    for _ in range(count):
        duration = draw(st.integers(0, 10**6))
        builder.slice(draw(text), draw(times), duration, track=draw(tracks), category=draw(text), args=draw(args))
    for _ in range(draw(st.integers(0, 4)) if count else 0):
        builder.flow(draw(text), draw(st.integers(0, count - 1)), draw(st.integers(0, count - 1)))
    for _ in range(draw(st.integers(0, 4))):
        builder.instant(draw(text), draw(times), track=draw(tracks), category=draw(text), args=draw(args))
    for _ in range(draw(st.integers(0, 4))):
        value = draw(st.floats(allow_nan=False, allow_infinity=False))
        builder.counter(draw(text), draw(times), value, track=draw(tracks))
    return builder.build()


def events(trace: Trace) -> dict[str, Any]:
    """A trace without its ids: what must come back."""
    slices, counters, instants, flows = trace.slices, trace.counters, trace.instants, trace.flows

    def spelled(*columns: Any) -> list[tuple[Any, ...]]:
        plain = (column.tolist() if isinstance(column, np.ndarray) else column for column in columns)
        return list(zip(*plain, strict=True))

    def named(ids: Any) -> list[str]:
        return [trace.strings[number] for number in ids]

    def placed(ids: Any) -> list[Track]:
        return [trace.tracks[number] for number in ids]

    return {
        "slices": spelled(
            slices.start, slices.duration, placed(slices.track), named(slices.name), named(slices.category),
            slices.depth, slices.parent, [trace.args_of(row) for row in range(len(slices))],
        ),
        "instants": spelled(
            instants.time, placed(instants.track), named(instants.name), named(instants.category),
            [trace.instant_args_of(row) for row in range(len(instants))],
        ),
        "counters": spelled(counters.time, placed(counters.track), named(counters.name), counters.value),
        "flows": sorted(spelled(named(flows.name), flows.source, flows.target)),
        "metadata": trace.metadata,
    }  # fmt: skip


@given(traces())
def test_what_is_written_comes_back(trace: Trace) -> None:
    data = b"".join(encode(trace))
    again = chrome.read(io.BytesIO(data))
    again.check()
    assert events(again) == events(trace)
    strict = json.loads(data.decode("utf-8"), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    moments = [round(event["ts"] * 1000) for event in strict["traceEvents"] if event["ph"] != "M"]
    assert moments == sorted(moments)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), max_size=40), st.integers(0, 10**14))
def test_slices_that_touch_nest_alike_in_floating_point(spans: list[tuple[int, int]], origin: int) -> None:
    """Readers add ts and dur as numbers that are not exact."""
    builder, kept = TraceBuilder(), list[tuple[int, int]]()
    for start, duration in spans:
        end = start + duration
        apart = all(end <= a or b <= start or (a <= start and end <= b) or (start <= a and b <= end) for a, b in kept)
        if apart and sum(end == b for _, b in kept) < 5:
            kept.append((start, end))
            builder.slice("x", origin + start, duration, track=TRACKS[0])
    document = json.loads(b"".join(encode(builder.build())))
    found = [(one["ts"], one["ts"] + one["dur"]) for one in document["traceEvents"] if one["ph"] == "X"]
    assert len(found) == len(kept)
    for (start, end), (later, last) in combinations(found, 2):  # type: ignore[assignment]
        assert start <= later and (last <= end or later >= end)


def long_trace(count: int) -> Trace:
    builder = TraceBuilder({"baseTimeNanoseconds": 1_764_475_000_000_000_000})
    track, row = builder.track(TRACKS[0]), np.arange(count)
    names = np.array([builder.string(name) for name in ("add", "mul")])
    ops = row + builder.slices(row * 1007, 900, track, names[row % 2], builder.string("cpu_op"))
    kernels = row + builder.slices(row * 1007 + 13, 801, track, builder.string("kernel"), builder.string("kernel"))
    builder.slice_args("Sequence number", ops[::3], row[::3])
    builder.slice_args("Input Dims", ops[::2], row[::2] % 2, table=[[[2, 3]], [[4]]])
    memory = row + builder.instants(row * 1007 + 15, track, builder.string("[memory]"), builder.string("memory"))
    builder.instant_args("Bytes", memory, row * 8)
    builder.counters(row * 1007 + 15, track, builder.string("Allocated"), row * 8)
    builder.flows(builder.string("fwdbwd"), ops[:-1:5], kernels[1::5][: len(ops[:-1:5])])
    return builder.build()


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_a_trace_longer_than_a_chunk(tmp_path: Path, name: str) -> None:
    trace = long_trace(40_000)
    chrome.write(trace, tmp_path / name)
    again = chrome.read(tmp_path / name)
    for kind in ("slices", "counters", "instants", "flows"):
        mine, theirs = getattr(trace, kind), getattr(again, kind)
        for column in mine.__dataclass_fields__:
            if column not in ("name", "category"):
                assert np.array_equal(getattr(mine, column), getattr(theirs, column)), (kind, column)
    assert Counter(again.name_of(range(len(again.slices)))) == Counter(trace.name_of(range(len(trace.slices))))
    for key, column in trace.slice_args.items():
        assert np.array_equal(again.slice_args[key].rows, column.rows)
        assert again.slice_args[key].to_list() == column.to_list()
    assert again.instant_args["Bytes"].to_list() == trace.instant_args["Bytes"].to_list()


def test_the_file_as_it_is(tmp_path: Path) -> None:
    builder = TraceBuilder({"baseTimeNanoseconds": 1764475000000000000, "commit": "5f3c1e0", "displayTimeUnit": "ns"})
    op = builder.slice("add", 12_250, 1_031, track=TRACKS[0], category="cpu_op", args={"Input Dims": [[2, 3], [3]]})
    kernel = builder.slice("add_native_float32", 12_251, 7, track=TRACKS[0], category="kernel")
    builder.flow("fwdbwd", op, kernel)
    builder.instant("[memory]", 12_999, track=TRACKS[0], category="cpu_instant_event", args={"Bytes": -8, "Addr": 1})
    builder.counter("Allocated", 13_000, 64, track=TRACKS[0])
    chrome.write(builder.build(), tmp_path / "trace.json")
    assert (
        (tmp_path / "trace.json").read_text()
        == """\
{"schemaVersion":1,
"displayTimeUnit":"ms",
"baseTimeNanoseconds":1764475000000000000,
"commit":"5f3c1e0",
"traceEvents":[
{"ph":"M","name":"process_name","pid":71,"tid":71,"args":{"name":"python"}},
{"ph":"M","name":"thread_name","pid":71,"tid":71,"args":{"name":"main"}},
{"ph":"M","name":"thread_sort_index","pid":71,"tid":71,"args":{"sort_index":0}},
{"ph":"X","cat":"cpu_op","name":"add","pid":71,"tid":71,"ts":12.250,"dur":1.031,"args":{"Input Dims":[[2,3],[3]]}},
{"ph":"s","cat":"fwdbwd","name":"fwdbwd","id":1,"pid":71,"tid":71,"ts":12.250},
{"ph":"X","cat":"kernel","name":"add_native_float32","pid":71,"tid":71,"ts":12.251,"dur":0.007},
{"ph":"f","bp":"e","cat":"fwdbwd","name":"fwdbwd","id":1,"pid":71,"tid":71,"ts":12.251},
{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":71,"tid":71,"ts":12.999,"args":{"Bytes":-8,"Addr":1}},
{"ph":"C","name":"Allocated","pid":71,"ts":13.000,"args":{"value":64}}
]}
"""
    )


def test_values_that_json_has_no_word_for(tmp_path: Path) -> None:
    builder = TraceBuilder({"path": tmp_path, "rate": math.nan})
    odd = {"nan": math.nan, "many": [math.inf, 2**70, "\ud800"], "text": "\x00\x1f\udcff"}
    builder.slice("x", 0, 1, track=TRACKS[0], args=odd)
    builder.slice("y", 1, 1, track=TRACKS[0], args={"nan": 0.5})
    chrome.write(builder.build(), tmp_path / "trace.json")
    document = orjson.loads((tmp_path / "trace.json").read_bytes())
    assert document["path"] == str(tmp_path)
    assert document["rate"] is None
    first = document["traceEvents"][-2]["args"]
    assert first["nan"] is None
    assert first["many"] == [None, float(2**70), "\\ud800"]
    assert first["text"] == "\x00\x1f\\udcff"


def full(*_: object) -> None:
    raise OSError("no space left")


class Full(io.FileIO):
    write = full  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("owner", "name", "other"),
    [(os, "replace", full), (chrome_write, "_open", lambda path, compress: Full(path, "w"))],
    ids=["at the end", "on the way"],
)
def test_nothing_is_left_when_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: object, name: str, other: object
) -> None:
    target = tmp_path / "trace.json"
    target.write_text("what was there")
    monkeypatch.setattr(owner, name, other)
    with pytest.raises(OSError, match="no space left"):
        chrome.write(long_trace(10), target)
    assert os.listdir(tmp_path) == ["trace.json"]
    assert target.read_text() == "what was there"


def test_gzip_is_told_by_content_and_an_empty_trace_is_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(gzip.compress(b"".join(encode(TraceBuilder().build()))))
    trace = chrome.read(str(path))
    assert (len(trace.slices), trace.tracks, trace.metadata) == (0, [], {})


def test_lone_surrogates_are_found_by_the_name_that_was_given(tmp_path: Path) -> None:
    """UTF-8 has no bytes for them, and strict readers refuse their JSON escapes: a trace has escapes of its own."""
    name, track = "file \udcff of \ud800", Track(1, 1, "thread \udcff", "process \ud800 \u2603")
    builder = TraceBuilder()
    builder.slice(name, 0, 10, track=track, category="user_annotation")
    trace = builder.build()
    chrome.write(trace, tmp_path / "trace.json")
    orjson.loads((tmp_path / "trace.json").read_bytes())
    again = chrome.read(tmp_path / "trace.json")
    for one in (trace, again):
        assert one.select(name=name).tolist() == [0]
        assert one.name_of([0]) == ["file \\udcff of \\ud800"]
        assert one.select(name=one.name_of([0])[0]).tolist() == [0]
    assert again.tracks == trace.tracks
    assert (again.tracks[0].name, again.tracks[0].process) == ("thread \\udcff", "process \\ud800 \u2603")


def test_no_file_takes_the_place_of_a_pipe_or_a_link(tmp_path: Path) -> None:
    trace = long_trace(10)
    real, link, pipe = (tmp_path / name for name in ("real.json", "link.json", "pipe.json"))
    link.symlink_to(real)
    chrome.write(trace, link)
    assert link.is_symlink()
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_bytes)
        chrome.write(trace, pipe)
        assert read.result() == real.read_bytes()
    assert pipe.is_fifo()
    with pytest.raises(IsADirectoryError):
        chrome.write(trace, tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["link.json", "pipe.json", "real.json"]
