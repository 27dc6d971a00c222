"""The core's parser and events taken one by one in Python tell the same of one file."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perflab.profiler import Trace, TraceFormatError
from perflab.profiler.importers.chrome import read_json
from perflab.profiler.importers.chrome_columns import NO_TIME
from perflab.profiler.importers.chrome_events import EventReader
from perflab.profiler.importers.findings import Findings
from perflab.profiler.importers.spill import Spill
from perflab.runtime._core import ChromeParser

from .same import told

SAMPLES = Path(__file__).parents[1] / "data" / "traces"


def parsed(data: bytes) -> Trace | None:
    """What the core makes of a file; None where none of its events is one."""
    try:
        trace = read_json(iter([data]), "it", Findings())
    except TraceFormatError:
        return None
    assert isinstance(trace, Trace)
    return trace


def one_by_one(data: bytes) -> Trace:
    document = json.loads(data)
    events = document if isinstance(document, list) else document.pop("traceEvents")
    reader = EventReader(Findings(), Spill())
    reader.add(events)
    layout = ("displayTimeUnit", "schemaVersion")
    metadata = {} if isinstance(document, list) else document
    return reader.build({key: value for key, value in metadata.items() if key not in layout})


numbers = st.one_of(
    st.integers(-(2**63), 2**64), st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 9).map(str)
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, st.text(max_size=3)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)
plain = st.one_of(st.integers(0, 50), st.integers(0, 50_000).map(lambda ns: ns / 1000), st.sampled_from([None, -3]))
# odd ones meet no plain one: of events at one time those written plainly would come first
times = st.one_of(plain, st.sampled_from(["77", 4e15]))
events = st.fixed_dictionaries(
    {"ph": st.sampled_from("XXXXiIRCBEMsstffbe?"), "ts": times},
    optional={
        "dur": plain,
        "name": st.sampled_from(["a", "b", 'q"\\\u2603', "", None, 3]),
        "cat": st.sampled_from(["cpu_op", ""]),
        "pid": st.sampled_from([1, "1", None]),
        "tid": st.sampled_from([1, 2, "stream 7", -3, 1.0]),
        "id": st.sampled_from([1, "1", -1, 0, "0x1", "01", 2**63]),
        "bp": st.sampled_from(["e", None]),
        "args": st.none() | st.dictionaries(st.sampled_from(["k", "value", "\u2603"]), values, max_size=3),
        "tts": values,
    },
)


@settings(max_examples=300)
@given(st.lists(events, max_size=12), st.sampled_from([None, 0, 1]), st.booleans(), st.booleans())
def test_any_events_are_read_alike(given_events: list[Any], indent: int | None, ascii: bool, bare: bool) -> None:
    for event in given_events:
        if event["ph"] == "C":
            event.pop("id", None)  # those with one are not plain
    document = given_events if bare else {"a": [1, {"b": "]}"}], "traceEvents": given_events, "z": 1.5}
    data = json.dumps(document, indent=indent, ensure_ascii=ascii).encode()
    trace = parsed(data)
    if trace is None:  # none of its events is one
        assert not any(event["ph"] != "?" for event in given_events)
        return
    trace.check()
    assert told(trace) == told(one_by_one(data))


@given(events, values)
def test_arguments_of_any_kind_are_read_alike(event: Any, args: Any) -> None:
    data = json.dumps([event | {"ph": "X", "args": args}]).encode()
    trace = parsed(data)
    assert trace is not None
    assert told(trace) == told(one_by_one(data))


@pytest.mark.parametrize("name", ["perflab_step.json", "torch_step.json"])
def test_samples_are_read_alike(name: str) -> None:
    data = (SAMPLES / name).read_bytes()
    trace = parsed(data)
    assert trace is not None
    assert told(trace) == told(one_by_one(data))


def test_pieces_of_any_size_are_one_file() -> None:
    data = (SAMPLES / "torch_step.json").read_bytes()

    def taken(size: int) -> Any:
        parser = ChromeParser()
        for at in range(0, len(data), size):
            parser.feed(data[at : at + size])
        assert parser.done
        columns = [column.tolist() for column in parser.take_slices()[:-1]]
        return columns, parser.take_others(), parser.texts, parser.threads, parser.metadata, parser.events

    assert taken(1) == taken(7) == taken(len(data))


EVENT = '{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1%s}'


@pytest.mark.parametrize(
    ("text", "start", "duration"),
    [
        ("1,2", 1000, 2000),
        ("0.001,0.0004", 1, 0),
        ("0.0005,1.9996", 1, 2000),
        ("-1.5,0", -1500, 0),
        ("1621401187223005.125,3", 1621401187223005125, 3000),
        ("3999999999999999.999,1", 3999999999999999999, 1000),
    ],
)
def test_times_are_decimal_text(text: str, start: int, duration: int) -> None:
    ts, dur = text.split(",")
    parser = ChromeParser()
    parser.feed(b"[" + (EVENT % "").replace('"ts":1,"dur":2', f'"ts":{ts},"dur":{dur}').encode() + b"]")
    starts, durations, *_ = parser.take_slices()
    assert (starts.tolist(), durations.tolist()) == ([start], [duration])


@pytest.mark.parametrize("ts", ["1e3", '"1"', "null", "4000000000000000", "99999999999999999999"])
def test_odd_times_are_for_python(ts: str) -> None:
    text = (EVENT % "").replace('"ts":1', f'"ts":{ts}').encode()
    parser = ChromeParser()
    parser.feed(b"[" + text + b"]")
    assert parser.take_others() == (text, [1], [NO_TIME])
    assert len(parser.take_slices()[0]) == 0
