"""torch's memory snapshots: read as plain data, and as nothing else."""

import io
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from perflab.profiler import Trace, TraceFormatError
from perflab.profiler.analysis.memory import memory_curve, memory_peak
from perflab.profiler.importers import torch_snapshot

from ..torch_rules import MIB, TorchRules


def read(document: object) -> Trace:
    trace = torch_snapshot.read(io.BytesIO(pickle.dumps(document)), "snap.pickle")
    trace.check()
    return trace


def instants(trace: Trace) -> list[tuple[str, int, int]]:
    """Name, Bytes and Total Reserved of each."""
    bytes_, reserved = (trace.instant_args[key].to_list() for key in ("Bytes", "Total Reserved"))
    names = [trace.strings[name] for name in trace.instants.name]
    return list(zip(names, bytes_, reserved, strict=True))


def test_a_whole_history() -> None:
    rules = TorchRules()
    small, large = rules.malloc(100), rules.malloc(3 * MIB)
    rules.free(small)
    rules.empty_cache()
    trace = read(rules.snapshot())
    assert instants(trace) == [
        ("[segment]", 2 * MIB, 2 * MIB),
        ("[memory]", 100, 2 * MIB),
        ("[segment]", 20 * MIB, 22 * MIB),
        ("[memory]", 3 * MIB, 22 * MIB),
        ("[memory]", -100, 22 * MIB),
        ("[segment]", -2 * MIB, 20 * MIB),
    ]
    assert trace.instant_args["Addr"].at(3) == large
    assert trace.metadata["tool"] == "torch memory snapshot"
    assert trace.metadata["baseTimeNanoseconds"] == 1_000_000_000
    assert trace.instants.time.tolist()[-1] == 60_000, "free_requested is no row of its own"
    assert [(track.process, track.name) for track in trace.tracks] == [("cuda:0", "stream 0")]


def test_what_was_there_before_comes_first() -> None:
    rules = TorchRules()
    stays, goes = rules.malloc(8 * MIB), rules.malloc(5 * MIB)
    rules.free(rules.malloc(30 * MIB))
    began = len(rules.events)
    rules.free(goes)
    rules.malloc(2 * MIB)
    trace = read(rules.snapshot(slice(began, None)))
    assert instants(trace) == [
        ("[segment]", 20 * MIB, 20 * MIB),
        ("[segment]", 30 * MIB, 50 * MIB),
        ("[memory]", 8 * MIB, 50 * MIB),
        ("[memory]", 5 * MIB, 50 * MIB),
        ("[memory]", -5 * MIB, 50 * MIB),
        ("[memory]", 2 * MIB, 50 * MIB),
    ]
    assert trace.instant_args["Category"].to_list() == ["before"] * 4
    assert trace.instant_args["Addr"].at(2) == stays
    curve = memory_curve(trace)
    assert (curve.peak_bytes, curve.reserved.tolist()) == (13 * MIB, [50 * MIB] * 4)
    peak = memory_peak(trace)
    assert peak is not None and peak.by_category == {"before": 13 * MIB}


def test_devices_streams_and_pools() -> None:
    """As newer versions of torch write them: expandable segments grow and shrink by pieces."""

    def event(action: str, address: int, size: int, stream: int, **more: Any) -> dict[str, Any]:
        return {"action": action, "addr": address, "size": size, "stream": stream, "time_us": 7, **more}

    first = [event("segment_map", 64, 40, 3), event("segment_unmap", 84, 20, 3)]
    second = [event("segment_alloc", 64, 20, 0, pool_id=(0, 4)), event("alloc", 64, 5, 0, pool_id=(0, 4))]
    segments = [
        {"device": 0, "address": 64, "total_size": 20, "blocks": [{"size": 20, "state": "inactive"}]},
        {
            "device": 1,
            "address": 64,
            "total_size": 20,
            "blocks": [{"size": 8, "requested_size": 5, "state": "active_allocated"}],
        },
    ]
    trace = read({"segments": segments, "device_traces": [first, second]})
    assert [(track.process, track.name) for track in trace.tracks] == [("cuda:0", "stream 3"), ("cuda:1", "stream 0")]
    assert instants(trace) == [
        ("[segment]", 40, 40), ("[segment]", -20, 20), ("[segment]", 20, 20), ("[memory]", 5, 20)
    ]  # fmt: skip
    assert trace.instant_args["Device Id"].to_list() == [0, 0, 1, 1]
    assert list(trace.instant_args["Pool"]) == [(2, "(0, 4)"), (3, "(0, 4)")]


def test_a_snapshot_without_a_history_is_what_is_there() -> None:
    rules = TorchRules()
    for size in (100, 600, 4 * MIB):
        rules.malloc(size)
    for document in (rules.snapshot(slice(0)), rules.snapshot(slice(0))["segments"]):
        trace = read(document)
        assert instants(trace)[2:] == [
            ("[memory]", 100, 22 * MIB),
            ("[memory]", 600, 22 * MIB),
            ("[memory]", 4 * MIB, 22 * MIB),
        ]


@pytest.mark.parametrize(
    ("frames", "op"),
    [
        ([("c10::malloc", "??", 0), ("at::_ops::mul_Tensor::call", "", 0), ("step", "a/b.py", 3)], "aten::mul_Tensor"),
        ([("PyRun", "??", 0), ("forward", "/a/net.py", 12), ("main", "/a/train.py", 4)], "forward (net.py:12)"),
        ([("main", "??", 0)], None),
    ],
)
def test_the_owner_is_the_innermost_op_else_function(frames: list[tuple[str, str, int]], op: str | None) -> None:
    rules = TorchRules()
    rules.malloc(100)
    rules.events[1]["frames"] = [dict(zip(("name", "filename", "line"), frame, strict=True)) for frame in frames]
    told = read(rules.snapshot()).instant_args.get("Op")
    assert (told.to_list() if told is not None else [None]) == [op]


class Evil:
    """Runs a command where it is loaded without care."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.path}",)


def test_nothing_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    for document in ({"segments": [], "device_traces": [], "extra": Evil(mark)}, Evil(mark)):
        with pytest.raises(
            TraceFormatError, match=r"names \w+\.system, and .* plain data alone; nothing of it was run"
        ):
            read(document)
    assert not mark.exists()


@pytest.mark.parametrize(
    "data",
    [
        b"cos\nsystem\n(S'true'\ntR.",  # by name
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",  # from the stack
        b"(S'true'\nios\nsystem\n.",  # an instance
        b"\x80\x02\x82\x01.",  # from the table of extensions
        b"Pself\n.",  # an object outside
        b"\x80\x04]\x88b.",  # the state of an object
        b"\x80\x04K\x01K\x02R.",  # a call
    ],
)
def test_other_ways_to_name_an_object_are_refused(data: bytes) -> None:
    with pytest.raises(TraceFormatError, match=r"^snap\.pickle: "):
        torch_snapshot.read(io.BytesIO(data), "snap.pickle")


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"a": 1}, "no memory snapshot: it has no list 'segments'"),
        ([1], "entries that torch does not write"),
        ("text", "no memory snapshot"),
        ({"segments": [], "device_traces": [[{"addr": 3}]]}, "entries that torch does not write"),
        ({"segments": [], "device_traces": [[{"action": "alloc", "addr": 1 << 80, "size": 1}]]}, "does not write"),
        ({"segments": [{"blocks": [7], "total_size": 1, "address": 0}]}, "entries that torch does not write"),
    ],
)
def test_strangers_are_refused_in_words(document: object, words: str) -> None:
    with pytest.raises(TraceFormatError, match=f"^snap.pickle: .*{words}"):
        read(document)


def test_a_cut_file_is_refused() -> None:
    rules = TorchRules()
    rules.malloc(100)
    whole = pickle.dumps(rules.snapshot())
    for end in range(2, len(whole) - 1, 7):
        with pytest.raises(TraceFormatError, match=r"^snap\.pickle: the pickle is damaged"):
            torch_snapshot.read(io.BytesIO(whole[:end]), "snap.pickle")


def test_a_few_bytes_cannot_stand_for_many_entries() -> None:
    event = {"action": "alloc", "addr": 1, "size": 1}
    history = [event] * 1000
    with pytest.raises(TraceFormatError, match=r"1,000,000 entries in .* bytes is no snapshot that torch wrote"):
        read({"segments": [], "device_traces": [history] * 1000})
