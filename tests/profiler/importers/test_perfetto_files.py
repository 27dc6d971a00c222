"""Perfetto's files: cut and damaged ones are read or refused, and what is written comes back."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as messages

from perflab.profiler import ProfilerError, TraceBuilder, TraceFormatError, Track, importers, perfetto
from perflab.profiler.cli import main

from ..same import told
from .packets import load
from .test_formats import kinds, slices

SAMPLES = Path(__file__).parents[2] / "data" / "traces"


def whole() -> bytes:
    """A trace with a bit of everything."""
    builder = TraceBuilder({"commit": "5f3c1e0", "baseTimeNanoseconds": 10**18})
    main, stream = Track(71, 71, "main", "python"), Track("GPU 0", "stream 7", "stream 7", "GPU 0")
    step = builder.slice("step", 0, 100, track=main, category="user_annotation", args={"n": 1, "l": [1, {"a": None}]})
    op = builder.slice("op", 10, 50, track=main, category="cpu_op", args={"shape": [2, 3], "big": 2**70, "s": "x"})
    builder.slice("crosses", 90, 50, track=main, category="cpu_op")
    kernel = builder.slice("kernel", 5, 90, track=stream, category="kernel")
    builder.flow("ac2g", op, kernel)  # to what began before it
    builder.flow("fwdbwd", step, op)
    builder.instant("[memory]", 12, track=main, category="cpu_instant_event", args={"Bytes": 64})
    builder.counter("allocated", 12, 64.5, track=main)
    return b"".join(perfetto.encode(builder.build()))


def test_a_trace_cut_at_every_byte_is_read_up_to_there() -> None:
    data = whole()
    before = 0
    for cut in range(3, len(data)):
        found = load(data[:cut])
        count = len(found.trace.slices)
        assert count >= before
        before = count
        assert "cut" in kinds(found) or messages.Trace.FromString(data[:cut])
    assert before == 4


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 9), st.binary(max_size=5)), max_size=4))
def test_damaged_files_are_read_or_refused(changes: list[tuple[int, int, bytes]]) -> None:
    data = whole()
    for at, removed, added in changes:
        at %= len(data) + 1
        data = data[:at] + added + data[at + removed :]
    try:
        load(data)
    except TraceFormatError as error:
        assert str(error).startswith("the trace: ") and "\n" not in str(error)


def test_damage_is_told_of() -> None:
    data = whole()
    found = load(data + b"garbage")
    assert (len(found.trace.slices), kinds(found)) == (4, {"packets-end": 1})
    assert found.trace.metadata["truncated"] is True
    found = load(data + b"\n\x03\xff\xff\xff")
    assert (len(found.trace.slices), kinds(found)) == (4, {"packet-damaged": 1})
    with pytest.raises(TraceFormatError, match="this is no trace of a known format"):
        load(b"\n" + b"\xff" * 30)
    # of pprof: a list of types, and then its samples
    with pytest.raises(TraceFormatError, match="protobuf, but not of Perfetto; pprof"):
        load(b"\n\x04\x08\x01\x10\x02" * 2 + b"\x12\x04\x0a\x02\x01\x02")


def test_what_is_written_is_read_as_it_was() -> None:
    first = load(whole()).trace
    assert slices(first) == [
        ("step", 0, 100, 0), ("kernel", 5, 90, 0), ("op", 10, 50, 0), ("crosses", 90, 50, 0),
    ]  # fmt: skip
    assert first.args_of(0) == {"n": 1, "l": [1, {"a": None}]}
    assert first.args_of(2) == {"shape": [2, 3], "big": 2**70, "s": "x"}
    arrows = zip(*(first.name_of(rows) for rows in (first.flows.source, first.flows.target)), strict=True)
    names = [first.strings[name] for name in first.flows.name]
    assert sorted(zip(arrows, names, strict=True)) == [(("op", "kernel"), "ac2g"), (("step", "op"), "fwdbwd")]
    assert first.metadata == {"commit": "5f3c1e0", "baseTimeNanoseconds": 10**18}
    assert told(load(b"".join(perfetto.encode(first))).trace) == told(first)


@pytest.mark.parametrize("name", ["torch_step.json", "perflab_step.json"])
def test_chrome_traces_come_back_but_for_ids_that_are_texts(name: str) -> None:
    trace = importers.read(SAMPLES / name, mask=False).trace
    again = load(b"".join(perfetto.encode(trace))).trace

    def without_ids(trace: Any) -> Any:
        plain = [
            track if isinstance(track.pid, int) and isinstance(track.tid, int) else Track(0, 0)
            for track in trace.tracks
        ]
        return told(replace(trace, tracks=plain))

    assert without_ids(again) == without_ids(trace)


def test_times_before_zero_move_behind_it() -> None:
    builder = TraceBuilder({"baseTimeNanoseconds": 1000})
    builder.slice("a", -30, 10, track=Track(1, 1))
    trace = load(b"".join(perfetto.encode(builder.build()))).trace
    assert slices(trace) == [("a", 0, 10, 0)]
    assert trace.metadata == {"baseTimeNanoseconds": 970}


def test_the_doctor_writes_what_it_could_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made, again = tmp_path / "whole.pftrace", tmp_path / "again.json"
    assert main(["doctor", str(SAMPLES / "torch_step.json"), "--repair", str(made)]) == 0
    assert main(["doctor", str(made), "--repair", str(again)]) == 0
    assert "Perfetto, " in capsys.readouterr().out
    assert len(importers.read(again).trace.slices) == len(importers.read(SAMPLES / "torch_step.json").trace.slices)
    assert list(tmp_path.iterdir()) != []
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".tmp"]


def test_a_link_stays_one_and_a_device_is_written_to(tmp_path: Path) -> None:
    trace = load(whole()).trace
    made, link = tmp_path / "made.pftrace", tmp_path / "link.pftrace"
    link.symlink_to(made)
    perfetto.write(trace, link)
    assert link.is_symlink() and told(load(made.read_bytes()).trace) == told(trace)
    pipe = tmp_path / "pipe.pftrace"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    perfetto.write(trace, pipe)
    assert os.read(reading, 1 << 16) == made.read_bytes()
    os.close(reading)
    assert pipe.is_fifo()


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = whole()
    monkeypatch.setitem(sys.modules, "perfetto.protos.perfetto.trace", None)
    with pytest.raises(TraceFormatError, match=r"the trace: a protobuf trace; .*pip install 'perflab\[perfetto\]'"):
        load(data)
    with pytest.raises(ProfilerError, match=r"pip install 'perflab\[perfetto\]'"):
        perfetto.write(TraceBuilder().build(), tmp_path / "x.pftrace")
    assert list(tmp_path.iterdir()) == []
