"""Arguments of long traces wait in a file while the rest is read: what comes out is the same."""

import io
import json
from typing import Any

import numpy as np
import pytest

from perflab.profiler import Trace, columns_file, importers
from perflab.profiler.importers import chrome, container, spill

from ..same import told

VALUES: list[Any] = [1, 2.5, True, None, "x", "x", [1, 2], {"a": None}, 2**70, "\u20ac", -3]


def document(count: int) -> bytes:
    """Events of every kind, so many of each, with arguments of one type and of several."""
    events: list[dict[str, Any]] = []
    for number in range(count):
        at = {"ts": 10 * (number ^ 3), "pid": 1, "tid": number % 3}
        events += [
            {"ph": "X", "name": f"op {number % 7}", "cat": "cpu_op", "dur": 5, "args": {
                "id": number, "half": number / 2 + 0.25, "even": number % 2 == 0, "shape": [number % 5],
                "mixed": VALUES[number % len(VALUES)]}, **at},
            {"ph": "i", "name": "[memory]", "args": {"Bytes": number, "mixed": VALUES[-number % len(VALUES)]}, **at},
            {"ph": "B", "name": "b", "args": {"id": -number}, **at, "tid": 9},
            {"ph": "E", "name": "b", **at, "ts": at["ts"] + 1, "tid": 9},
            {"ph": "s", "name": "f", "id": number, **at}, {"ph": "f", "name": "f", "id": number, "bp": "e", **at},
            {"ph": "C", "name": "c", "args": {"v": number}, **at},
        ]  # fmt: skip
    return json.dumps({"traceEvents": events}).encode()


def read(data: bytes) -> Trace:
    found = importers.read(io.BytesIO(data), mask=False).trace
    found.check()
    return found


def args_of(trace: Trace) -> list[Any]:
    return [trace.args_of(row) for row in range(len(trace.slices))]


@pytest.mark.parametrize(("count", "held"), [(60, 1), (200, 37), (200, 150), (5, 1)])
def test_a_trace_that_was_spilled_is_the_same(count: int, held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = document(count)
    whole = read(data)
    monkeypatch.setattr(spill, "HELD", held)
    for module in (chrome, container):  # the parser is relieved between pieces
        monkeypatch.setattr(module, "PIECE", 2048)
    spilled = read(data)
    assert told(spilled) == told(whole)
    assert args_of(spilled) == args_of(whole)
    assert spilled.instant_args.keys() == whole.instant_args.keys()
    for key, column in whole.instant_args.items():
        assert spilled.instant_args[key].rows.tolist() == column.rows.tolist()
        assert spilled.instant_args[key].to_list() == column.to_list()
    if count > 5:
        assert isinstance(spilled.slice_args["half"].values, np.memmap)
        assert spilled.slice_args["half"].rows is spilled.slice_args["shape"].rows


def test_a_spilled_trace_is_saved_and_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    data = document(100)
    monkeypatch.setattr(spill, "HELD", 10)
    for module in (chrome, container):
        monkeypatch.setattr(module, "PIECE", 2048)
    spilled = read(data)
    file = io.BytesIO()
    columns_file.save(spilled, file)
    file.seek(0)
    again = columns_file.load(file)
    assert told(again) == told(spilled)
    assert args_of(again) == args_of(spilled)
