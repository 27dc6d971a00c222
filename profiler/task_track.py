"""Tasks of asyncio on the timeline: lanes beside the thread of their loop.

A task is one slice from its first step to its last, in it its steps and its waits. Tasks that do not overlap share a
lane, so there are as many lanes as there were tasks at once.
"""

import heapq
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from .analysis.gil import THREAD
from .analysis.tasks import AWAIT, NAME, NUMBER, RUN, TASK, WAIT
from .builder import TraceBuilder
from .events import TASK_WAIT
from .stretches import Stretch
from .trace import Int64s, Json

_LANES = 300  # of a thread; further tasks share the last one, and where they cross lie beside it


class TaskTrack:
    """Adds the slices of tasks to a builder, stretch by stretch.

    events: of the kinds TASK_RUN and TASK_WAIT. names: by number of the task. lanes: the track of a thread's lane with
    this name.
    """

    def __init__(
        self,
        events: Stretch,
        names: Mapping[int, str],
        strings: list[str],
        builder: TraceBuilder,
        ns: Callable[[Int64s], Int64s],
        lanes: Callable[[int, int, str], int],
    ) -> None:
        self._builder = builder
        start, end = ns(events["t0"]), ns(events["t2"])
        number, is_wait = events["sequence"].astype(np.int64), events["kind"] == TASK_WAIT
        tasks, place = np.unique(number, return_inverse=True)
        first, last = np.full(len(tasks), np.iinfo(np.int64).max), np.zeros(len(tasks), dtype=np.int64)
        np.minimum.at(first, place, start)
        np.maximum.at(last, place, end)
        thread, coroutine = (np.zeros(len(tasks), dtype=np.int64) for _ in range(2))
        thread[place] = events.thread
        coroutine[place[~is_wait]] = events["name"][~is_wait]
        labels = [names.get(task, "") for task in tasks.tolist()]
        track = _lanes(first, last, thread, labels, lanes)
        runs, waits = (
            np.array([builder.string(before + text) for text in strings if len(tasks)] or [0], dtype=np.int64)
            for before in ("", AWAIT)
        )
        kinds = np.array([builder.string(text) for text in (RUN, WAIT)], dtype=np.int64)
        # whole tasks first: of two slices with the same times the one added first is outside
        self._columns = (
            np.concatenate((first, start)),
            np.concatenate((last - first, end - start)),
            np.concatenate((track, track[place])),
            np.concatenate((runs[coroutine], np.where(is_wait, waits[events["name"]], runs[events["name"]]))),
            np.concatenate((np.full(len(tasks), builder.string(TASK)), kinds[is_wait.astype(np.int64)])),
        )
        self._number, self._thread, self._labels = np.concatenate((tasks, number)), thread, labels
        self._order = np.argsort(self._columns[0], kind="stable")
        self._start = self._columns[0][self._order]
        self._added = 0

    def add(self, until: float) -> None:
        """The slices that begin before `until`, and did not before."""
        first, self._added = self._added, int(np.searchsorted(self._start, until))
        rows = self._order[first : self._added]
        handles = self._builder.slices(*(column[rows] for column in self._columns)) + np.arange(len(rows))
        self._builder.slice_args(NUMBER, handles, self._number[rows])
        whole = np.flatnonzero(rows < len(self._labels))
        self._builder.slice_args(THREAD, handles[whole], self._thread[rows[whole]])
        texts: list[Json] = [self._labels[row] for row in rows[whole].tolist()]
        self._builder.slice_args(NAME, handles[whole], texts)


def _lanes(
    first: Int64s, last: Int64s, thread: Int64s, labels: list[str], lanes: Callable[[int, int, str], int]
) -> NDArray[np.int64]:
    """The track of each task: the first lane of its thread that is free when it begins."""
    free: dict[int, list[int]] = {}
    busy: dict[int, list[tuple[int, int]]] = {}
    lane = np.zeros(len(first), dtype=np.int64)
    on_lane: dict[tuple[int, int], list[int]] = {}
    for task in np.argsort(first, kind="stable").tolist():
        of = int(thread[task])
        unused, used = free.setdefault(of, []), busy.setdefault(of, [])
        while used and used[0][0] <= first[task]:
            heapq.heappush(unused, heapq.heappop(used)[1])
        lane[task] = heapq.heappop(unused) if unused else min(len(used), _LANES - 1)
        heapq.heappush(used, (int(last[task]), int(lane[task])))
        on_lane.setdefault((of, int(lane[task])), []).append(task)
    tracks = np.zeros(len(first), dtype=np.int64)
    for (of, number), tasks in sorted(on_lane.items()):
        tracks[tasks] = lanes(of, number, labels[tasks[0]] if len(tasks) == 1 else f"tasks {number + 1}")
    return tracks
