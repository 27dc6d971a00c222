"""CUPTI's records of what CUDA devices did, by the package cupti-python: every kernel, copy and fill, to the ns.

CUPTI numbers each call of CUDA's; its record says the thread and when, and the work that the call began has the same
number. A call inside one of our launches belongs to it. CUPTI serves one recorder in a process, so all windows share
it; where PyTorch is loaded, whose profiler needs CUPTI, it is left alone.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from perflab import runtime
from perflab.runtime import _core

from .analysis.devices import SAMPLED
from .events import EVENT, IS_COPY, IS_FILL, KERNEL, LAUNCH, NAMED
from .recording import Clock, Events
from .trace import Int64s, Json

OTHER_STREAMS = 1 << 16  # added to CUPTI's number of a stream that none of our launches is on
ONE_OP_IN = 4  # has a pair of events where CUPTI does not record
TIMES, OVERHEAD, TROUBLE = "cudaTimes", "cuptiOverhead", "cuptiTrouble"  # metadata
_BUFFER = 8 << 20  # bytes of records at a time
_READINGS = 16
_LEVELS = 4  # of launches inside each other, as of an op that copies


class _Reading(NamedTuple):
    """The same moment on both clocks."""

    ticks: int
    ns: int


class _Work(NamedTuple):
    """A kernel, copy or fill; ns of CUPTI's clock."""

    begin: int
    end: int
    call: int
    device: int
    stream: int
    name: str
    flags: int
    bytes: int


class _Call(NamedTuple):
    number: int
    thread: int
    begin: int
    end: int


class CuptiRecorder:
    """CUPTI, on from the first window's begin to the last one's end, where the machine has what it needs."""

    def __init__(self) -> None:
        self._reset()
        os.register_at_fork(after_in_child=self._reset)  # there CUPTI is of no use

    def _reset(self) -> None:
        self._lock = threading.RLock()
        self._windows: set[object] = set()
        self._module: Any = None
        self._first = _Reading(0, 0)
        self._trouble = ""
        self._forget_all()

    def _forget_all(self) -> None:
        # appended to by a thread of CUPTI's
        self._work: list[_Work] = []
        self._calls: list[_Call] = []
        self._overheads: list[tuple[str, int, int]] = []

    def begin(self, window: object) -> None:
        """A window opens. What CUPTI will not do is told by `notes`, and pairs of events take the times."""
        with self._lock:
            if not self._windows:
                self._trouble = ""
                self._module = self._started()
                _core.cuda_time_one_in(0 if self._module else ONE_OP_IN)
            self._windows.add(window)

    def end(self, window: object) -> None:
        """A window closes, the second time in vain."""
        with self._lock:
            if window not in self._windows:
                return
            self._windows.remove(window)
            if self._windows or self._module is None:
                return
            module, self._module = self._module, None
            self._stop(module)
            self._forget_all()

    def notes(self) -> dict[str, Json]:
        """For the metadata of a trace with CUDA devices: how their times were taken."""
        if self._module:
            spent: dict[str, int] = {}
            for kind, begin, end in self._overheads:
                spent[kind] = spent.get(kind, 0) + end - begin
            return {TIMES: "CUPTI activity records", OVERHEAD: dict[str, Json](spent)}
        why: dict[str, Json] = {TROUBLE: self._trouble} if self._trouble else {}
        return {TIMES: f"pairs of events around one op in {ONE_OP_IN} and each copy", SAMPLED: ONE_OP_IN, **why}

    def joined(self, recorded: list[tuple[int, Events]], since: int, clock: Clock) -> list[tuple[int, Events]]:
        """What was recorded, with the work that ended after the tick `since` and the calls that began it.

        These calls stand in place of our launch that they are inside of: each has one piece of work.
        """
        with self._lock:
            if self._module is None:
                return recorded
            self._module.activity_flush_all(1)
            last = self._reading(self._module)
            calls, work = {call.number: call for call in self._calls}, self._work.copy()
        ticks = self._ticks(np.array([(w.begin, w.end) for w in work], dtype=np.int64).reshape(-1, 2), last, clock)
        chosen = np.flatnonzero(ticks[:, 1] >= since)
        work, ticks = [work[row] for row in chosen.tolist()], ticks[chosen]
        if not work:
            return recorded
        done = np.zeros(len(work), dtype=EVENT)
        done["kind"], done["t0"], done["t2"] = KERNEL, ticks[:, 0], ticks[:, 1]
        done["name"] = [_core.intern(one.name) for one in work]
        done["flags"] = [one.flags | NAMED for one in work]
        done["bytes"], done["sequence"] = [one.bytes for one in work], [one.call for one in work]
        recorded = [(thread, events.copy()) for thread, events in recorded]
        streams: dict[tuple[int, int], int] = {}
        began = done.copy()
        began["kind"] = LAUNCH
        known = np.array([one.call in calls for one in work])
        of_work = [calls.get(one.call, _Call(one.call, -1, 0, 0)) for one in work]
        ticks = self._ticks(np.array([(c.begin, c.end) for c in of_work], dtype=np.int64), last, clock)
        began["t0"], began["t2"] = ticks[:, 0], ticks[:, 1]
        threads = np.array([call.thread for call in of_work], dtype=np.int64)
        for row, launch in _launches_of(threads, ticks.mean(axis=1), recorded):
            for event in (began[row], done[row]):
                event["address"], event["shapes"], event["scope"] = launch["address"], launch["shapes"], launch["scope"]
            began[row]["t0"], began[row]["t2"] = np.clip(ticks[row], launch["t0"], launch["t2"])  # to within the clocks
            streams[work[row].device, work[row].stream] = int(launch["address"])
            launch["kind"] = 0
        for row in np.flatnonzero(done["address"] == 0).tolist():
            where = (work[row].device, work[row].stream)
            other = _core.cuda_row(work[row].device) << 32 | OTHER_STREAMS + work[row].stream
            done[row]["address"] = began[row]["address"] = streams.get(where, other)
        recorded += [(int(one), began[threads == one]) for one in np.unique(threads[known])]
        return [*recorded, (os.getpid(), done)]

    def forget(self, tick: int, clock: Clock) -> None:
        """What ended before `tick` is wanted by nobody, where one window is open."""
        with self._lock:
            if self._module is None or len(self._windows) > 1:
                return
            last = self._reading(self._module)
            for records in (self._work, self._calls):
                _keep(records, lambda ends: self._ticks(ends, last, clock) >= tick)

    def _started(self) -> Any:
        """The module, recording; none where that cannot be."""
        if "torch" in sys.modules or not runtime.cuda.is_available():
            return None
        try:
            from cupti import cupti as module
        except ImportError:
            return None
        try:
            module.set_thread_id_type(module.ActivityThreadIdType.SYSTEM)
            module.activity_register_callbacks(lambda: (_BUFFER, 0), self._take)
            for kind in _kinds(module):
                module.activity_enable(kind)
            self._first = self._reading(module)
        except module.cuptiError as error:
            self._trouble = str(error)
            self._stop(module)
            return None
        return module

    def _stop(self, module: Any) -> None:
        for kind in _kinds(module):
            try:
                module.activity_disable(kind)
            except module.cuptiError as error:  # the others stop none the less
                self._trouble = self._trouble or str(error)

    def _reading(self, module: Any) -> _Reading:
        """Of several that whose moment is known best."""
        best, found = 1 << 62, _Reading(0, 0)
        for _ in range(_READINGS):
            before = _core.recorder_ticks()
            ns = module.get_timestamp()
            after = _core.recorder_ticks()
            if after - before < best:
                best, found = after - before, _Reading((before + after) // 2, ns)
        return found

    def _ticks(self, ns: Int64s, last: _Reading, clock: Clock) -> Int64s:
        """Moments of CUPTI's clock in ticks; over a second, its drift against ours is measured."""
        first, span = self._first, last.ns - self._first.ns
        rate = (last.ticks - first.ticks) / span if span > 1e9 else 1 / clock.ns_per_tick
        moments: Int64s = first.ticks + np.rint((ns - first.ns) * rate).astype(np.int64)
        return moments

    def _take(self, activities: list[Any]) -> None:
        """Called by CUPTI with records of all kinds; they are good for the time of the call."""
        module = self._module
        if module is None:
            return
        kinds, copies = module.ActivityKind, module.ActivityMemcpyKind
        for one in activities:
            if one.kind in (kinds.DRIVER, kinds.RUNTIME):
                self._calls.append(_Call(one.correlation_id, one.thread_id, one.start, one.end))
            elif one.kind == kinds.OVERHEAD:
                kind = module.ActivityOverheadKind(one.overhead_kind).name
                self._overheads.append((kind, one.start, one.end))
            else:
                name, flags, size = "", 0, 0
                if one.kind == kinds.CONCURRENT_KERNEL:
                    name = one.name
                elif one.kind == kinds.MEMCPY:
                    name, flags, size = f"Memcpy {_direction(copies(one.copy_kind).name)}", IS_COPY, one.bytes
                elif one.kind == kinds.MEMSET:
                    name, flags, size = "Memset", IS_FILL, one.bytes
                else:
                    continue
                where = (one.correlation_id, one.device_id, one.stream_id)
                self._work.append(_Work(one.start, one.end, *where, name, flags, size))


def _keep(records: list[Any], wanted: Callable[[Int64s], NDArray[np.bool_]]) -> None:
    """Those whose ends are wanted; others may come behind them meanwhile."""
    ends = np.array([one.end for one in records], dtype=np.int64)
    records[: len(ends)] = [records[row] for row in np.flatnonzero(wanted(ends)).tolist()]


def _kinds(module: Any) -> list[Any]:
    kinds = module.ActivityKind
    return [kinds.CONCURRENT_KERNEL, kinds.MEMCPY, kinds.MEMSET, kinds.DRIVER, kinds.RUNTIME, kinds.OVERHEAD]


def _direction(kind: str) -> str:
    """HTOD: HtoD, as the recorder's own copies are called."""
    return kind.replace("TO", "to")


def _launches_of(threads: Int64s, moments: Any, recorded: list[tuple[int, Events]]) -> Iterator[tuple[int, Any]]:
    """Each call, by its row, that was inside a launch, and the launch itself, the innermost: a view of the event."""
    of_thread: dict[int, list[Any]] = {}
    for thread, events in recorded:
        rows = np.flatnonzero((events["kind"] == LAUNCH) & (events["sequence"] > 0))
        of_thread.setdefault(thread, []).extend(events[row] for row in rows.tolist())
    for thread, launches in of_thread.items():
        launches.sort(key=lambda launch: int(launch["t0"]))
        begin, end = (np.array([launch[at] for launch in launches], dtype=np.int64) for at in ("t0", "t2"))
        here = np.flatnonzero(threads == thread)
        place = np.searchsorted(begin, moments[here], "right") - 1
        for _ in range(_LEVELS):  # who began last may have ended: then it is one around that
            here, place = here[place >= 0], place[place >= 0]
            inside = end[place] >= moments[here]
            for row, at in zip(here[inside].tolist(), place[inside].tolist(), strict=True):
                yield row, launches[at]
            here, place = here[~inside], place[~inside] - 1


CUPTI = CuptiRecorder()
