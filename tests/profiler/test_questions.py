"""The ready questions: each has the answer that follows from how a trace was built, and stands in the docs."""

import re
from pathlib import Path
from typing import Any

import pytest

from perflab.profiler import Trace, TraceBuilder, Track, chrome
from perflab.profiler.questions import OF_LAB, OF_TRACE, Question
from perflab.profiler.sql import Database

ROOT = Path(__file__).parents[2]
MS = 1_000_000
STEPS_MS = (10, 10, 20)


def trace() -> Trace:
    """Three steps of an addmm (1, 2 and 3 ms, each with a launch of 0.1 ms and its kernel of 2 ms), a relu of 1 ms in
    module Net.act, and the backward of the addmm, 4 ms. A thread of its own waits for the GIL."""
    builder = TraceBuilder()
    main, stream = Track(1, 11, "main", "python"), Track(0, 7, "stream 7", "device")
    gil = Track(1, "11 GIL", "main GIL", "python")
    start = 0
    for step, length in enumerate(STEPS_MS):
        builder.slice(f"ProfilerStep#{step}", start, length * MS, track=main, category="user_annotation")
        addmm = builder.slice(
            "aten::addmm", start, (step + 1) * MS, track=main, category="cpu_op", args={"Input Dims": [[2, 2]]}
        )
        launch = builder.slice("launch", start + MS // 10, MS // 10, track=main, category="cuda_runtime")
        kernel = builder.slice("gemm", start + 3 * MS, 2 * MS, track=stream, category="kernel")
        builder.flow("ac2g", launch, kernel)
        relu_at = start + 3 * MS
        builder.slice("aten::relu", relu_at, MS, track=main, category="cpu_op", args={"Module Hierarchy": "Net.act"})
        backward = builder.slice("AddmmBackward0", start + 5 * MS, 4 * MS, track=main, category="autograd")
        builder.flow("fwdbwd", addmm, backward)
        builder.counter("Allocated", start + MS, (100 + 10 * step) * 1e6, track=main)
        builder.counter("Allocated", start + 2 * MS, (50 + 10 * step) * 1e6, track=main)
        start += length * MS
    builder.slice("lost", 36 * MS, MS, track=stream, category="kernel")
    for at, length in ((MS // 2, 200), (3 * MS + 10, 300), (5 * MS, 400), (5 * MS + 500, 600), (9 * MS + 10, 50)):
        builder.slice("GIL wait", at, length, track=gil, category="gil", args={"Thread": 11})
    builder.instant("[memory]", 10, track=main, args={"Bytes": 64, "Addr": 1})
    builder.instant("[memory]", 20, track=main, args={"Bytes": 36, "Addr": 2})
    builder.instant("[memory]", 30, track=main, args={"Bytes": -64, "Addr": 1})
    return builder.build()


ANSWERS: dict[str, list[list[Any]]] = {
    # of the addmm's 6 ms the launches take 0.3
    "What takes the time?": [["aten::addmm", 5.7, 3], ["aten::relu", 3.0, 3]],
    "How long are the steps, and how much do they vary?": [[3, 10.0, 19.0]],
    "Which steps took longer than usual?": [["ProfilerStep#2", 20.0, 2.0]],
    "Which calls of one op were the slowest, and when?": [
        [20 * MS, 3 * MS, "main"],
        [10 * MS, 2 * MS, "main"],
        [0, 1 * MS, "main"],
    ],
    "In which modules is the time spent?": [["Net.act", 3.0, 3]],
    "With which shapes was an op called?": [["aten::addmm", "[[2,2]]", 3, 2.0 * MS]],
    "Which forward op has the slowest backward?": [["aten::addmm", 6.0, 12.0, 3]],
    "Which ops waited for the GIL?": [
        ["AddmmBackward0", 0.001, 2],
        ["aten::relu", 0.0003, 1],
        ["aten::addmm", 0.0002, 1],
        ["(no op)", 0.00005, 1],
    ],
    "Which kernels belong to which op?": [["aten::addmm", "gemm", 6 * MS]],
    "Which kernels on a device have no launch?": [["lost", 1, 1.0]],
    "After which kernels was a stream idle for longest?": [
        ["stream 7", "gemm", 25 * MS, 11 * MS],
        ["stream 7", "gemm", 5 * MS, 8 * MS],
        ["stream 7", "gemm", 15 * MS, 8 * MS],
    ],
    "How does memory grow from step to step?": [
        ["ProfilerStep#0", 100.0, 50.0, None],
        ["ProfilerStep#1", 110.0, 60.0, 10.0],
        ["ProfilerStep#2", 120.0, 70.0, 10.0],
    ],
    # at 21 ms the block of 36 bytes is all that is left
    "What was memory in use for when it was most?": [["activation", None, 36]],
    "How much was allocated, and how much freed?": [[100.0, 64.0]],
    "How high did each counter go?": [["Allocated", 120e6, 21 * MS]],
    "How busy is each thread, as a share of the trace?": [
        ["python", "main", pytest.approx(40 / 40)],
        ["device", "stream 7", pytest.approx(7 / 40)],
        ["python", "main GIL", pytest.approx(1550 / 40e6)],
    ],
}


def asked(question: Question, about: Trace) -> list[list[Any]]:
    database = Database()
    database.add_trace(about)
    try:
        return database.ask(question.sql).rows
    finally:
        database.close()


@pytest.mark.parametrize("question", OF_TRACE, ids=lambda question: question.title)
def test_the_answer(question: Question) -> None:
    assert asked(question, trace()) == ANSWERS[question.title]


@pytest.mark.parametrize("question", OF_TRACE, ids=lambda question: question.title)
def test_a_trace_of_torch_and_an_empty_one(question: Question) -> None:
    asked(question, chrome.read(ROOT / "tests/data/traces/torch_step.json"))
    asked(question, TraceBuilder().build())


def test_two_traces_do_not_mix() -> None:
    """Each arrow is followed in its own trace: twice the trace is twice the time."""
    for title in ("Which kernels belong to which op?", "Which forward op has the slowest backward?"):
        (question,) = (question for question in OF_TRACE if question.title == title)
        database = Database()
        for number in (1, 2):
            database.add_trace(trace(), number)
        (once,) = ANSWERS[title]
        (twice,) = database.ask(question.sql).rows
        assert twice == [value * 2 if isinstance(value, int | float) else value for value in once]
        database.close()


def test_the_docs_hold_them_all() -> None:
    text = (ROOT / "docs/sql.md").read_text(encoding="utf-8")
    told = re.findall(r"^([^\n]+)\n\n```sql\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert told == [(question.title, question.sql) for question in (*OF_TRACE, *OF_LAB)]
