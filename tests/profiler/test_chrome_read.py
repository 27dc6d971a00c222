import gzip
import io
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from perflab.profiler import Trace, TraceFormatError, chrome

SAMPLES = Path(__file__).parents[1] / "data" / "traces"


def read(data: bytes | str | list[Any] | dict[str, Any]) -> Trace:
    if isinstance(data, list | dict):
        data = json.dumps(data)
    trace = chrome.read(io.BytesIO(data.encode() if isinstance(data, str) else data))
    trace.check()
    return trace


def slices(trace: Trace) -> list[tuple[str, int, int, int]]:
    """Name, start, duration and depth of each slice."""
    columns = trace.slices
    return [
        (trace.strings[columns.name[row]], int(columns.start[row]), int(columns.duration[row]), int(columns.depth[row]))
        for row in range(len(columns))
    ]


def event(phase: str, name: str = "x", ts: Any = 0, **more: Any) -> dict[str, Any]:
    return {"ph": phase, "name": name, "ts": ts, "pid": 1, "tid": 1, **more}


def test_begin_and_end_in_any_order() -> None:
    edges = [("B", "b", 1), ("E", "b", 9), ("B", "a", 0), ("E", "a", 10), ("B", "c", 2), ("E", "c", 8)]
    trace = read([event(*edge) for edge in edges])
    assert slices(trace) == [("a", 0, 10_000, 0), ("b", 1_000, 8_000, 1), ("c", 2_000, 6_000, 2)]


def test_ends_match_by_name_and_strays_are_left_out() -> None:
    trace = read([event("B", "a", 0), event("B", "b", 1), event("E", "a", 5), event("E", "?", 6), event("E", "b", 7)])
    assert slices(trace) == [("a", 0, 5_000, 0), ("b", 1_000, 6_000, 0)]
    assert [trace.tracks[number].lane for number in trace.slices.track] == [0, 1]
    nameless_end = {"ph": "E", "ts": 4, "pid": 1, "tid": 1, "args": {"result": 1}}
    trace = read([event("B", "a", 0, args={"n": 2}), nameless_end])
    assert slices(trace) == [("a", 0, 4_000, 0)]
    assert trace.args_of(0) == {"n": 2, "result": 1}


def test_slices_without_an_end_reach_to_the_last_event() -> None:
    trace = read([event("B", "a", 0), event("X", "b", 1, dur=5), event("i", "later", 20)])
    assert slices(trace) == [("a", 0, 20_000, 0), ("b", 1_000, 5_000, 1)]
    assert trace.args_of(0) == {"unfinished": True}
    assert trace.args_of(1) == {}


def test_times_that_are_missing_odd_or_out_of_reach() -> None:
    trace = read(
        [
            event("X", "text", "1.5", dur="2.25"),
            event("X", "no duration", 10),
            event("X", "negative", 20, dur=-3),
            event("X", "null duration", 30, dur=None),
            event("X", "null", None, dur=1),
            event("X", "far", 1e300, dur=1),
            event("X", "word", "soon", dur=1),
            event("X", "yes", True, dur=1),
            event("X", "finer than ns", 40.0004, dur=0.0006),
        ]
    )
    assert [one[:3] for one in slices(trace)] == [
        ("text", 1_500, 2_250),
        ("no duration", 10_000, 0),
        ("negative", 20_000, 0),
        ("null duration", 30_000, 0),
        ("finer than ns", 40_000, 1),
    ]


@pytest.mark.parametrize("start", [0, 1, 999_999_999_999, 4_203_669_604_595_407, 10**12 + 7])
def test_times_are_exact_to_the_nanosecond(start: int) -> None:
    ts, dur = (f"{ns // 1000}.{ns % 1000:03d}" for ns in (start, start % 77777))
    trace = read(f'[{{"ph":"X","name":"x","ts":{ts},"dur":{dur}}}]')
    assert slices(trace) == [("x", start, start % 77777, 0)]


def test_pids_and_tids_of_any_kind() -> None:
    ids: list[Any] = ["stream 7", "3004819264", 2**40, -1, 7.0, None, "", [1]]
    trace = read([{"ph": "X", "name": "x", "ts": place, "tid": tid} for place, tid in enumerate(ids)])
    found = [trace.tracks[number].tid for number in trace.slices.track]
    assert found == ["stream 7", 3004819264, 2**40, -1, 7, 0, "", "[1]"]
    assert {track.pid for track in trace.tracks} == {0}


def test_names_of_processes_and_threads_may_come_late() -> None:
    trace = read(
        [
            event("X"),
            event("M", "process_name", args={"name": "python"}),
            event("M", "thread_name", args={"name": "main"}),
            {"ph": "M", "name": "thread_name", "pid": 9, "tid": 9, "args": {"name": "never heard of again"}},
        ]
    )
    assert [(track.name, track.process) for track in trace.tracks] == [("main", "python")]


def test_counters_have_a_series_each() -> None:
    trace = read(
        [
            event("C", "memory", 0, args={"value": 2, "text": "no", "flag": True}),
            event("C", "memory", 1, args={"cached": 1.5, "nothing": None}),
            event("C", "memory", 2, id=7, args={"value": 3}),
        ]
    )
    names = [trace.strings[name] for name in trace.counters.name]
    assert list(zip(names, trace.counters.value, strict=True)) == [
        ("memory", 2),
        ("memory cached", 1.5),
        ("memory[7]", 3),
    ]


def test_async_events_of_one_id_share_a_track() -> None:
    trace = read(
        [
            event("b", "request", 0, cat="net", id=1),
            event("b", "connect", 1, cat="net", id=1),
            event("n", "retry", 2, cat="net", id=1),
            event("e", "connect", 3, cat="net", id=1),
            event("e", "request", 9, cat="net", id=1),
            event("b", "request", 1, cat="net", id=2),
            event("e", "request", 8, cat="net", id=2),
        ]
    )
    assert slices(trace) == [("request", 0, 9_000, 0), ("request", 1_000, 7_000, 0), ("connect", 1_000, 2_000, 1)]
    assert [(track.tid, track.name) for track in trace.tracks] == [("net 1", "request"), ("net 2", "request")]
    assert len(trace.instants) == 1


def flows(trace: Trace) -> list[tuple[str, str, str]]:
    rows = zip(trace.flows.name, trace.flows.source, trace.flows.target, strict=True)
    return [(trace.strings[name], *trace.name_of([source, target])) for name, source, target in rows]


def test_flows_bind_to_the_slices_around_or_behind_their_ends() -> None:
    def end(phase: str, ts: float, tid: int, **more: Any) -> dict[str, Any]:
        return {"ph": phase, "name": "flow", "cat": "c", "id": 1, "ts": ts, "pid": 1, "tid": tid, **more}

    around = [
        event("X", "launch", 0, dur=10),
        event("X", "inner", 2, dur=2),
        {**event("X", "kernel", 20, dur=5), "tid": 2},
        {**event("X", "next", 30, dur=5), "tid": 2},
    ]
    assert flows(read([*around, end("s", 3, 1), end("f", 22, 2, bp="e")])) == [("flow", "inner", "kernel")]
    assert flows(read([*around, end("s", 5, 1), end("f", 22, 2)])) == [("flow", "launch", "next")]
    assert flows(read([*around, end("s", 5, 1), end("t", 22, 2), end("f", 32, 2, bp="e")])) == [
        ("flow", "launch", "kernel"),
        ("flow", "kernel", "next"),
    ]
    # a device's clock may run before the host's
    assert flows(read([*around, end("f", 3, 1, bp="e"), end("s", 22, 2)])) == [("flow", "kernel", "inner")]
    assert flows(read([*around, end("f", 22, 2, bp="e")])) == []
    assert flows(read([*around, end("s", 50, 1), end("f", 22, 2, bp="e")])) == []


def test_a_flow_belongs_to_the_slice_it_was_written_behind() -> None:
    outer, inner = event("X", "outer", 0, dur=9), event("X", "inner", 0, dur=5)
    later = event("X", "later", 20, dur=1)
    start, finish = event("s", "f", 0, id=1), event("f", "f", 20, id=1, bp="e")
    assert flows(read([outer, start, inner, later, finish])) == [("f", "outer", "later")]
    assert flows(read([outer, inner, start, later, finish])) == [("f", "inner", "later")]


def test_tokens_and_bytes_that_are_not_json_are_put_up_with() -> None:
    trace = read(
        b'\xef\xbb\xbf [{"ph":"X","name":"tab\there \xff","ts":0,"dur":NaN,"args":{"a":Infinity,"b":"\\ud800"}},\n'
        b'{"ph":"C","name":"c","ts":1,"args":{"value":-Infinity}}, 7, null, {"ph":3}]'
    )
    assert slices(trace) == [("tab\there \ufffd", 0, 0, 0)]
    assert len(trace.counters) == 0


def test_an_array_may_lack_its_end() -> None:
    text = json.dumps([event("X", "a", 0, dur=1), event("X", "b", 5, dur=1)])
    assert len(read(text[:-1]).slices) == 2
    assert len(read(text[:-1] + ",\n").slices) == 2


def test_objects_keep_their_other_keys_as_metadata() -> None:
    trace = read({"traceEvents": [], "displayTimeUnit": "ms", "baseTimeNanoseconds": 5, "distributedInfo": {"rank": 0}})
    assert trace.metadata == {"baseTimeNanoseconds": 5, "distributedInfo": {"rank": 0}}


HTML = b"\n<!DOCTYPE html><html><body>Sign in</body></html>"
PACKED = gzip.compress(b'[{"ph":"X","ts":1}]', mtime=0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty; record"),
        (b" \n ", "the file is empty"),
        (HTML, "this is HTML, not a trace; download"),
        (b"<?xml version='1.0'?><trace/>", "this is XML or HTML, not a trace"),
        (b"hello there", "this is not JSON (it begins with 'hello there'); give a Chrome JSON trace"),
        (b"\x00\x01\xfe\xff", "this is not JSON"),
        (b'{"traceEvents": [{"ph": "X", "ts": 1]}', "this is not valid JSON"),
        (b'{"spans": [], "id": 1}', "not a Chrome trace: it has no list 'traceEvents' (its keys: 'spans', 'id')"),
        (b'{"traceEvents": {}}', "it has no list 'traceEvents'"),
        (b"{}", "(its keys: none)"),
        (b"[{}]", "none of its 1 items is an event with a known 'ph'"),
        (b"[1, 2, 3]", "none of its 3 items is an event"),
        (b'{"traceEvents": [{"name": "x"}]}', "none of its 1 items is an event"),
        (b"[" * 100_000, "this is not valid JSON from byte 1 on"),
        (b'{"traceEvents": [{"ph" "X"}]}', "this is not valid JSON from byte 17 on"),
        (b"PK\x03\x04rest", "the zip archive is damaged"),
        (b"\x28\xb5\x2f\xfdrest", "the zstd data is cut short"),
        (PACKED[:9], "the gzip data is cut short; copy or record the file again"),
        (b"\xff\xfe{\x00}\x00", "this is text in UTF-16 or UTF-32; save it as UTF-8"),
        ("[{}]".encode("utf-16-le"), "this is text in UTF-16 or UTF-32; save it as UTF-8"),
        ("[{}]".encode("utf-32-be"), "this is text in UTF-16 or UTF-32; save it as UTF-8"),
        (b"\x00garbage", "this is not JSON"),
        (b'{"ph":"X","ts":1}\n{"ph":"X","ts":2}', "an event, and not the list of them; put all events in one list"),
        (pickle.dumps({"a": 1}), "this is a Python pickle; a memory snapshot of torch is for `perflab memory`"),
        (b"\x0a\x02\x08\x01" * 4, "protobuf, but not of Perfetto"),
        (b'{"benchmarks": []}', "benchmark results, no trace"),
        (b"\xfd7zXZ\x00\x00\x04" + bytes(40), "packed with xz, bzip2 or 7z; unpack it, or use gzip"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS keeps; run `git lfs pull`"),
        (gzip.compress(HTML, mtime=0), "this is HTML"),
        (b"\x1f\x8bnot gzip at all", "the gzip data is damaged"),
        (PACKED[:-8] + b"wrong" + b"sum", "the gzip data is damaged"),
    ],
)  # fmt: skip
def test_what_is_no_trace_is_refused_in_one_sentence(data: bytes, message: str) -> None:
    with pytest.raises(TraceFormatError) as refusal:
        read(data)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert str(refusal.value).startswith("the trace: ")


def test_the_message_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("nope")
    with pytest.raises(TraceFormatError, match=r"^report.json: this is not JSON"):
        chrome.read(path)
    with pytest.raises(TraceFormatError, match=r"^report.json: "), open(path, "rb") as file:
        chrome.read(file)


def test_a_trace_of_torch_profiler() -> None:
    trace = chrome.read(SAMPLES / "torch_step.json")
    trace.check()
    assert [one[0] for one in slices(trace) if one[3] == 0][:2] == ["PyTorch Profiler (0)", "ProfilerStep#1"]
    assert flows(trace) == [
        ("fwdbwd", "aten::addmm", "autograd::engine::evaluate_function: AddmmBackward0"),
        ("ac2g", "cudaLaunchKernel", "void gemm_kernel<float>(int)"),
    ]
