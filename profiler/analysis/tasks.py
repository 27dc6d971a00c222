"""Tasks of asyncio: how long they ran, what they waited for, and how long one of them kept the loop from the others."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from ..trace import Trace
from .gil import THREAD
from .threads import named_thread

# Categories: of a whole task, and in it of its steps and its waits. Chromium calls its own "task".
TASK, RUN, WAIT = "asyncio_task", "task_run", "task_wait"
CATEGORIES = (TASK, RUN, WAIT)
NUMBER = "Task"  # argument of all three; the first has the thread of its loop in THREAD
NAME = "Task Name"  # argument of whole tasks
AWAIT = "await "  # begins the names of waits


@dataclass(frozen=True, slots=True)
class CoroutineUse:
    """All tasks of one coroutine; times in ns. A step is what a task runs until it waits again.

    wait_ns: from the end of a step to the begin of the next one, in `waits` by what the task waits in, the longest
    first. It holds the time in which the task could have gone on and others ran.
    """

    coroutine: str
    tasks: int
    steps: int
    run_ns: int
    longest_ns: int
    longest_at: int  # when the longest step began
    longest_task: str
    wait_ns: int
    waits: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class LoopUse:
    """The event loop of a thread, from the first step of a task to the last: how long it ran tasks."""

    thread: str
    tasks: int
    steps: int
    span_ns: int
    run_ns: int
    longest_ns: int


@dataclass(slots=True)
class _Sum:
    tasks: int = 0
    steps: int = 0
    run_ns: int = 0
    longest: tuple[int, int, int] = (0, 0, 0)  # ns, when, number of the task
    begin: int = 0
    end: int = 0
    waits: Counter[str] = field(default_factory=Counter)

    def run(self, start: int, duration: int, number: int) -> None:
        self.begin = min(self.begin, start) if self.steps else start
        self.end = max(self.end, start + duration)
        self.steps += 1
        self.run_ns += duration
        self.longest = max(self.longest, (duration, start, number))


def coroutines(trace: Trace) -> list[CoroutineUse]:
    """By falling time of running; empty where the trace has no tasks."""
    sums, names = _sums(trace)[0], {number: name for number, (_, _, name) in _tasks(trace).items()}
    found = [
        CoroutineUse(
            coroutine, each.tasks, each.steps, each.run_ns, each.longest[0], each.longest[1],
            names.get(each.longest[2], ""), sum(each.waits.values()), tuple(each.waits.most_common()),
        )
        for coroutine, each in sums.items()
    ]  # fmt: skip
    return sorted(found, key=lambda each: (-each.run_ns, each.coroutine))


def loops(trace: Trace) -> list[LoopUse]:
    """The event loops that ran tasks, the busiest first."""
    found = [
        LoopUse(
            named_thread(trace, thread), each.tasks, each.steps, each.end - each.begin, each.run_ns, each.longest[0]
        )
        for thread, each in _sums(trace)[1].items()
    ]
    return sorted(found, key=lambda each: (-each.run_ns, each.thread))


def _tasks(trace: Trace) -> dict[int, tuple[str, int, str]]:
    """By number of the task: its coroutine, the tid of its loop's thread, its name."""
    args = trace.slice_args
    rows = trace.select(category=TASK).tolist()
    return {
        args[NUMBER].at(row): (name, args[THREAD].at(row), args[NAME].at(row, ""))
        for row, name in zip(rows, trace.name_of(rows), strict=True)
    }


def _sums(trace: Trace) -> tuple[dict[str, _Sum], dict[int, _Sum]]:
    """By coroutine, and by thread."""
    tasks = _tasks(trace)
    by_coroutine: dict[str, _Sum] = defaultdict(_Sum)
    by_thread: dict[int, _Sum] = defaultdict(_Sum)
    for coroutine, thread, _ in tasks.values():
        by_coroutine[coroutine].tasks += 1
        by_thread[thread].tasks += 1
    slices = trace.slices
    for category in (RUN, WAIT) if tasks else ():
        rows = trace.select(category=category)
        numbers = trace.slice_args[NUMBER].dense(len(slices))[rows].tolist()
        times = slices.start[rows].tolist(), slices.duration[rows].tolist()
        for number, start, duration, name in zip(numbers, *times, trace.name_of(rows.tolist()), strict=True):
            coroutine, thread, _ = tasks[number]
            if category == WAIT:
                by_coroutine[coroutine].waits[name.removeprefix(AWAIT)] += duration
                continue
            by_coroutine[coroutine].run(start, duration, number)
            by_thread[thread].run(start, duration, number)
    return by_coroutine, by_thread
