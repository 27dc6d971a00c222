"""A trace as a file of columns: what is read is what was written, and other files are refused."""

import io
import json
from pathlib import Path

import numpy as np
import pytest

from perflab.profiler import chrome
from perflab.profiler.builder import TraceBuilder
from perflab.profiler.columns_file import MAGIC, load, save
from perflab.profiler.errors import TraceFormatError
from perflab.profiler.trace import Trace, Track

from .same import told


def saved(trace: Trace) -> bytes:
    file = io.BytesIO()
    save(trace, file)
    return file.getvalue()


def odd_trace() -> Trace:
    """Every kind of event, with arguments of every kind."""
    builder = TraceBuilder({"commit": "c0ffee", "nested": {"list": [1, 2.5, None, "é"]}})
    track = Track(1, "stream ☃", "name", "process")
    values = [1, 2**70, float("inf"), "text", None, True, [1, {"a": []}], "", -1.5]
    handles = [
        builder.slice(f"op {n}", n * 10, 5, track=track, category="cpu_op", args={"any": value})
        for n, value in enumerate(values)
    ]
    builder.slice_args("ints", np.array(handles), np.arange(len(handles)))
    builder.slice_args("floats", np.array(handles[:3]), np.array([0.1, np.nan, np.inf]))
    builder.slice_args("truths", np.array(handles[1:2]), np.array([True]))
    builder.instant("moment", 3, track=track, args={"Bytes": -7})
    builder.counter("bytes", 4, 1e300, track=track)
    builder.flow("fwdbwd", handles[0], handles[2])
    return builder.build()


@pytest.mark.parametrize("name", ["perflab_step.json", "torch_step.json", "odd", "empty"])
def test_what_is_read_is_what_was_written(root: Path, name: str) -> None:
    made = {"odd": odd_trace, "empty": TraceBuilder().build}
    trace = made[name]() if name in made else chrome.read(root / "tests/data/traces" / name)
    again = load(io.BytesIO(saved(trace)))
    again.check()
    assert repr(told(again)) == repr(told(trace))  # as text a NaN equals itself
    assert again.strings == trace.strings
    for key, column in trace.slice_args.items():
        assert again.slice_args[key].values.dtype == column.values.dtype


def test_arguments_of_the_same_rows_share_them() -> None:
    builder = TraceBuilder()
    first = builder.slices(np.arange(1_000), 1, builder.track(Track(1, 1)), builder.string("op"), builder.string(""))
    handles = first + np.arange(1_000)
    for key in ("a", "b"):
        builder.slice_args(key, handles, np.arange(1_000))
    again = load(io.BytesIO(saved(builder.build())))
    assert again.slice_args["a"].rows is again.slice_args["b"].rows


def test_other_files_are_refused() -> None:
    whole = saved(odd_trace())
    length = int.from_bytes(whole[8:16], "little")
    header = json.loads(whole[16 : 16 + length])
    newer = json.dumps(header | {"version": 2}).encode()
    for content, sentence in (
        (b'{"traceEvents": []}', "does not hold the columns of a trace; read it as Chrome JSON"),
        (b"", "does not hold the columns of a trace"),
        (
            MAGIC + len(newer).to_bytes(8, "little") + newer,
            "the columns are of version 2, this reads 1; write them again",
        ),
        (whole[:40], "is cut short; write it again"),
        (whole[: 16 + length + 30], "is cut short; write it again"),
        (whole[:-9], "is cut short; write it again"),
    ):
        with pytest.raises(TraceFormatError, match=sentence):
            load(io.BytesIO(content))
