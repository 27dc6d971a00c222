"""Tasks of asyncio: their steps and waits as they happen, on lanes, and what they add up to."""

import asyncio
import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from perflab.profiler import Trace, TraceBuilder, Track, chrome, profile
from perflab.profiler.analysis.tasks import CoroutineUse, LoopUse, coroutines, loops
from perflab.profiler.conversion import TASK_TID, to_trace
from perflab.profiler.events import EVENT, TASK_RUN, TASK_WAIT
from perflab.profiler.recording import Clock, Recording
from perflab.profiler.report.answers import answers
from perflab.profiler.report.sections import sections

MAIN = 7


def recorded(*events: tuple[int, int, int, int, int], **names: str) -> Trace:
    """A trace of events: kind, coroutine's or wait's place in the strings, begin, end, task."""
    array = np.zeros(len(events), dtype=EVENT)
    for row, values in zip(array, events, strict=True):
        row["kind"], row["name"], row["t0"], row["t2"], row["sequence"] = values
    recording = Recording(
        events=[(MAIN, array)],
        clock=Clock(0, 10**18, 1.0),
        pid=1,
        ops=[],
        dtypes=[],
        strings=["", "fetch", "sleep", "parse"],
        shapes=[()],
        threads={MAIN: "MainThread"},
        tasks={int(number.removeprefix("task")): name for number, name in names.items()},
    )
    trace = to_trace(recording)
    trace.check()
    return trace


def told(trace: Trace) -> list[tuple[str, str, str, int, int]]:
    """The slices of tasks: lane, category, name, start, duration."""
    slices = trace.slices
    return [
        (
            trace.tracks[slices.track[row]].name,
            trace.strings[slices.category[row]],
            trace.strings[slices.name[row]],
            int(slices.start[row]),
            int(slices.duration[row]),
        )
        for row in range(len(slices))
    ]


EVENTS = (
    (TASK_RUN, 1, 0, 10, 1),
    (TASK_RUN, 3, 10, 15, 2),
    (TASK_WAIT, 2, 10, 40, 1),
    (TASK_RUN, 1, 40, 60, 1),
    (TASK_RUN, 3, 70, 75, 3),
)


def test_tasks_have_lanes_with_their_steps_and_waits() -> None:
    trace = recorded(*EVENTS, task1="reader", task2="Task-2", task3="Task-3")
    assert told(trace) == [
        ("MainThread: tasks 1", "asyncio_task", "fetch", 0, 60),
        ("MainThread: tasks 1", "task_run", "fetch", 0, 10),
        ("MainThread: tasks 1", "task_wait", "await sleep", 10, 30),
        ("MainThread: Task-2", "asyncio_task", "parse", 10, 5),
        ("MainThread: Task-2", "task_run", "parse", 10, 5),
        ("MainThread: tasks 1", "task_run", "fetch", 40, 20),
        ("MainThread: tasks 1", "asyncio_task", "parse", 70, 5),  # the lane was free again
        ("MainThread: tasks 1", "task_run", "parse", 70, 5),
    ]
    assert trace.args_of(0) == {"Task": 1, "Thread": MAIN, "Task Name": "reader"}
    assert trace.args_of(2) == {"Task": 1}


def test_what_tasks_add_up_to() -> None:
    trace = recorded(*EVENTS, task1="reader", task2="Task-2", task3="Task-3")
    assert coroutines(trace) == [
        CoroutineUse("fetch", 1, 2, 30, 20, 40, "reader", 30, (("sleep", 30),)),
        CoroutineUse("parse", 2, 2, 10, 5, 70, "Task-3", 0, ()),
    ]
    assert loops(trace) == [LoopUse("MainThread", 3, 4, 75, 40, 20)]
    assert coroutines(TraceBuilder().build()) == loops(TraceBuilder().build()) == []


def lanes(trace: Trace) -> int:
    return len({track.tid for track in trace.tracks if int(track.tid) >= TASK_TID})


def test_a_thousand_tasks_at_once_and_after_each_other() -> None:
    events = [(TASK_RUN, 1, number, number + 1, number + 1) for number in range(1000)]
    assert lanes(recorded(*events)) == 1
    trace = recorded(*events, *((TASK_RUN, 1, 2000 + number, 2001 + number, number + 1) for number in range(1000)))
    assert coroutines(trace)[0].tasks == 1000
    assert lanes(trace) == 300  # further tasks lie beside the last of them


def test_the_report_names_what_kept_the_loop() -> None:
    builder = TraceBuilder()
    main, lane = Track(1, 1, "main"), Track(1, 30_000_001, "main: reader")
    builder.counter("RSS", 0, 1, track=main)
    builder.slice(
        "read", 0, 40_000_000, track=lane, category="asyncio_task", args={"Task": 1, "Thread": 1, "Task Name": "reader"}
    )
    builder.slice("read", 0, 30_000_000, track=lane, category="task_run", args={"Task": 1})
    builder.slice("await Queue.get", 30_000_000, 6_000_000, track=lane, category="task_wait", args={"Task": 1})
    builder.slice("read", 36_000_000, 4_000_000, track=lane, category="task_run", args={"Task": 1})
    found = {section.title: section for section in sections(answers(builder.build()))}
    assert found["Tasks"].sentences == (
        "The loop of main ran tasks for 85.0% of 40 ms; 1 tasks in 2 steps, the longest 30 ms: nothing else ran on the"
        " loop meanwhile.",
    )
    of_coroutine, waits = found["Tasks"].tables
    assert of_coroutine.rows == (("read", "34 ms", "30 ms", "2", "1", "6 ms"),)
    assert waits.rows == (("read in Queue.get", "6 ms"),)
    (advice,) = found["One thing to do"].sentences
    assert "Tasks of read ran for 34 ms in all, and reader once for 30 ms without a wait" in advice
    assert "Ops" not in found


async def inner(event: asyncio.Event) -> None:
    await event.wait()


async def waits(event: asyncio.Event) -> None:
    await inner(event)
    await asyncio.sleep(0)


async def both() -> None:
    event = asyncio.Event()
    task = asyncio.create_task(waits(event), name="the waiting one")
    await asyncio.sleep(0)
    event.set()
    await task


def uses(trace: Trace) -> dict[str, tuple[int, int, list[str]]]:
    return {
        each.coroutine: (each.tasks, each.steps, sorted(name for name, _ in each.waits)) for each in coroutines(trace)
    }


def test_steps_and_waits_are_those_that_happened(tmp_path: Path) -> None:
    plain = asyncio.events.Handle._run
    with profile() as prof:
        asyncio.run(both())
    assert asyncio.events.Handle._run is plain
    found = uses(prof.trace)
    assert found["waits"] == (1, 3, ["Event.wait", "sleep"])
    assert found["both"] == (1, 3, ["both", "sleep"])
    names = prof.trace.slice_args["Task Name"].to_list()
    assert "the waiting one" in names
    for category in ("task_run", "task_wait"):
        rows = prof.trace.select(category=category)
        outer = prof.trace.slices.parent[rows]
        assert set(prof.trace.slices.category[outer]) == {prof.trace.string_id("asyncio_task")}
    prof.export_chrome_trace(tmp_path / "trace.json")
    assert coroutines(chrome.read(tmp_path / "trace.json")) == coroutines(prof.trace)


def test_exceptions_and_cancellations_pass() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise KeyError("why")

    async def run() -> list[Any]:
        stuck = asyncio.create_task(asyncio.Event().wait())
        failing = asyncio.create_task(fails())
        await asyncio.sleep(0)
        stuck.cancel()
        return await asyncio.gather(stuck, failing, return_exceptions=True)

    with profile() as prof:
        cancelled, failed = asyncio.run(run())
    assert isinstance(cancelled, asyncio.CancelledError) and isinstance(failed, KeyError)
    assert uses(prof.trace)["test_exceptions_and_cancellations_pass.<locals>.fails"] == (1, 2, ["sleep"])
    assert uses(prof.trace)["Event.wait"][0] == 1


def test_tasks_are_not_kept_alive() -> None:
    async def run() -> list[bool]:
        ended = []
        for _ in range(10):
            task = asyncio.create_task(asyncio.sleep(0))
            ended.append(weakref.ref(task))
            await task
        del task
        await asyncio.sleep(0)  # so that asyncio itself is done with the last one
        gc.collect()
        return [one() is None for one in ended]

    with profile():
        assert asyncio.run(run()) == [True] * 10


def test_profiles_inside_each_other_see_their_own_steps() -> None:
    async def sleeps(times: int) -> None:
        for _ in range(times):
            await asyncio.sleep(0)

    with profile() as outer:
        asyncio.run(sleeps(2))
        with profile() as inside:
            asyncio.run(sleeps(3))
        asyncio.run(sleeps(4))
    name = "test_profiles_inside_each_other_see_their_own_steps.<locals>.sleeps"
    assert uses(inside.trace)[name] == (1, 4, ["sleep"])
    assert uses(outer.trace)[name] == (3, 3 + 4 + 5, ["sleep"])


def test_asyncio_that_is_imported_later_and_a_fork(tmp_path: Path) -> None:
    program = (
        "import os, sys\n"
        "from perflab.profiler import profile\n"
        "from perflab.profiler.analysis.tasks import coroutines\n"
        "assert 'asyncio' not in sys.modules\n"
        "with profile() as prof:\n"
        "    import asyncio\n"
        "    async def main():\n"
        "        await asyncio.sleep(0)\n"
        "    asyncio.run(main())\n"
        "    if not os.fork():\n"
        "        asyncio.run(main())\n"
        "        os._exit(asyncio.events.Handle._run.__module__ != 'asyncio.events')\n"
        "    assert os.wait()[1] == 0\n"
        "print({each.coroutine: each.steps for each in coroutines(prof.trace)}['main'])\n"
        "assert asyncio.events.Handle._run.__module__ == 'asyncio.events'\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, env=os.environ)
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
