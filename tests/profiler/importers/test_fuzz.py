"""Whatever a file holds, it is read or refused in one sentence. PERFLAB_FUZZ=100000 tries so many of each."""

import gzip
import io
import json
import os
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perflab.profiler import Trace, TraceFormatError, chrome, importers
from perflab.profiler.chrome_write import encode
from perflab.profiler.doctor import examine

from ...fuzz import inputs
from ..same import told
from .test_formats import nsys_export

SAMPLES = Path(__file__).parents[2] / "data" / "traces"
TRIES = settings(
    max_examples=int(os.environ.get("PERFLAB_FUZZ", "100")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
PLAIN = (SAMPLES / "torch_step.json").read_bytes()
SEEDS = [PLAIN, gzip.compress(PLAIN), gzip.compress(PLAIN[:500]) + gzip.compress(PLAIN[500:])]


def survives(data: bytes) -> Trace | None:
    """Reads, checks and examines; None where it is refused."""
    try:
        found = importers.read(io.BytesIO(data), 1 << 24)
    except TraceFormatError as error:
        assert str(error).startswith("the trace: ")
        assert "\n" not in str(error)
        return None
    found.trace.check()
    report = examine(found)
    assert all(finding.count > 0 and len(finding.examples) <= 3 for finding in report.findings)
    return found.trace


edits = st.lists(
    st.tuples(st.integers(0, 10**6), st.integers(0, 40), st.binary(max_size=6) | st.sampled_from(TOKENS := [
        b"NaN", b"Infinity", b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b"-1", b"1e999", b"null", b'"ph":"B"',
        b'"ph":"E"', b'"ph":"f"', b'"ts":', b'"dur":-5', b"\x00", b"\xff", b"99999999999999999999",
    ])),
    max_size=5,
)  # fmt: skip


@TRIES
@given(st.sampled_from(SEEDS), edits)
def test_damaged_files(seed: bytes, changes: list[tuple[int, int, bytes]]) -> None:
    data = seed
    for at, removed, added in changes:
        at %= len(data) + 1
        data = data[:at] + added + data[at + removed :]
    survives(data)


@TRIES
@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    survives(data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
KEYS = ["ph", "ts", "dur", "name", "cat", "pid", "tid", "id", "bp", "args", "scope", "id2"]
wild_events = st.dictionaries(
    st.sampled_from(KEYS), json_values | st.sampled_from([*"XBEbensftiICMPO", "1.5", 2, 3.25]), max_size=9
)


@TRIES
@given(st.lists(wild_events | json_values, max_size=8))
def test_any_events(events: list[Any]) -> None:
    survives(json.dumps({"traceEvents": events}).encode())


frames = st.lists(st.fixed_dictionaries({"name": json_values}) | json_values, max_size=3)
profiles = st.fixed_dictionaries(
    {"type": st.sampled_from(["evented", "sampled", 3])},
    optional={
        "unit": st.sampled_from(["seconds", "none", "bytes", None, []]),
        "name": json_values,
        "startValue": json_values,
        "endValue": json_values,
        "events": json_values
        | st.lists(
            st.fixed_dictionaries(
                {"type": st.sampled_from("OC"), "frame": st.integers(0, 3), "at": st.floats(-9, 9) | json_values}
            ),
            max_size=8,
        ),
        "samples": json_values | st.lists(st.lists(st.integers(-1, 3), max_size=4), max_size=5),
        "weights": json_values | st.lists(st.floats(0, 9) | json_values, max_size=5),
    },
)
trees: st.SearchStrategy[Any] = st.recursive(
    st.fixed_dictionaries({"function": json_values, "time": st.floats(0, 5) | json_values}),
    lambda inner: st.fixed_dictionaries(
        {"function": st.text(max_size=3), "time": st.floats(0, 9)}, optional={"children": st.lists(inner, max_size=3)}
    ),
    max_leaves=6,
)
documents = (
    st.fixed_dictionaries(
        {"shared": st.fixed_dictionaries({"frames": frames}), "profiles": st.lists(profiles, max_size=3)}
    )
    | st.fixed_dictionaries({"shared": json_values, "profiles": json_values})
    | st.fixed_dictionaries({"root_frame": trees | json_values, "sample_count": json_values, "start_time": json_values})
    | st.fixed_dictionaries(
        {
            "start_time": json_values,
            "frame_records": json_values
            | st.lists(
                st.tuples(st.lists(st.text("ab\0\x011", max_size=9), max_size=4), st.floats() | json_values), max_size=5
            ),
        }
    )
)


@TRIES
@given(documents)
def test_any_profiles(document: Any) -> None:
    survives(json.dumps(document).encode())


@TRIES
@given(edits)
def test_damaged_databases(changes: list[tuple[int, int, bytes]]) -> None:
    data = nsys_export()
    for at, _, added in changes:
        at %= len(data)
        data = data[:at] + added + data[at + len(added) :]
    survives(data)


@TRIES
@given(st.lists(wild_events, max_size=10))
def test_what_is_read_and_written_is_read_the_same(events: list[Any]) -> None:
    data = json.dumps({"traceEvents": events}).encode()
    try:
        trace = chrome.read(io.BytesIO(data))
    except TraceFormatError:
        return
    again = chrome.read(io.BytesIO(b"".join(encode(trace))))
    assert told(again) == told(chrome.read(io.BytesIO(b"".join(encode(again)))))
    for column in ("start", "duration", "depth", "parent"):
        assert (getattr(again.slices, column) == getattr(trace.slices, column)).all()
    assert again.name_of(range(len(again.slices))) == trace.name_of(range(len(trace.slices)))


def test_damaged_files_of_every_format() -> None:
    """`make fuzz` gives 100,000 of these."""
    for name, survives_it, data in inputs(630):
        try:
            survives_it(data)
        except Exception as error:
            raise AssertionError(f"{name}: {data!r}") from error


plain_events = st.lists(
    st.tuples(st.text(max_size=4), st.integers(0, 999), st.dictionaries(st.text(max_size=2), json_values, max_size=2)),
    max_size=4,
)


@settings(TRIES, max_examples=min(TRIES.max_examples, 25))
@given(plain_events, st.booleans())
def test_a_valid_trace_cut_at_every_byte_gives_a_prefix(rows: list[tuple[str, int, Any]], is_ascii: bool) -> None:
    events = [
        {"ph": "X", "name": name, "ts": 1000 * place, "dur": duration, "args": args}
        for place, (name, duration, args) in enumerate(rows)
    ]
    text = json.dumps({"traceEvents": events, "end": 1}, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
    whole = importers.read(io.BytesIO(text), mask=False).trace
    names = whole.name_of(range(len(whole.slices)))
    before = 0
    for cut in range(1, len(text)):
        found = importers.read(io.BytesIO(text[:cut]), mask=False).trace
        count = len(found.slices)
        assert before <= count <= len(names)
        assert found.name_of(range(count)) == names[:count]
        assert found.slices.duration.tolist() == whole.slices.duration[:count].tolist()
        before = count
    assert before == len(names)
