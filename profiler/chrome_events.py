"""Turns Chrome trace events into a Trace: slices from X, B/E and async events, counters, instants and flows."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .builder import TraceBuilder
from .chrome_flows import FlowPoint, bind
from .trace import Int64s, Json, Trace, Track

Event: TypeAlias = dict[str, Any]
Thread: TypeAlias = tuple[int | str, int | str]

_FURTHEST_US = 4e15  # beyond this a time in nanoseconds, or the sum of two, does not fit 64 bits
_SILENT = frozenset("PNODRVvac(),")  # phases of the format that put nothing on our timeline


@dataclass(slots=True)
class _Marks:
    """Times and names of events that are one moment each."""

    time: list[float] = field(default_factory=list)
    thread: list[int] = field(default_factory=list)
    name: list[int] = field(default_factory=list)
    category: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)

    def add(self, time: float, thread: int, name: int, *, category: int = 0, value: float = 0.0) -> int:
        self.time.append(time)
        self.thread.append(thread)
        self.name.append(name)
        self.category.append(category)
        self.value.append(value)
        return len(self.time) - 1


@dataclass(slots=True)
class _Spans(_Marks):
    duration: list[float] = field(default_factory=list)
    place: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Values:
    handles: list[int] = field(default_factory=list)
    values: list[Json] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Edge:
    """A begin or an end of a slice."""

    time: float
    is_begin: bool
    event: Event
    place: int


class EventReader:
    """Takes events in the order of the file, then builds the trace."""

    def __init__(self) -> None:
        self._builder = TraceBuilder()
        self._threads: dict[Thread, int] = {}
        self._thread_names: dict[int, str] = {}
        self._process_names: dict[int | str, str] = {}
        self._slices = _Spans()
        self._instants = _Marks()
        self._counters = _Marks()
        self._slice_args: dict[str, _Values] = defaultdict(_Values)
        self._instant_args: dict[str, _Values] = defaultdict(_Values)
        self._edges: dict[int, list[_Edge]] = defaultdict(list)
        self._flow_ends: list[tuple[Event, float, int, int]] = []
        self._place = 0
        self._handlers = {
            "X": self._complete,
            **dict.fromkeys("BE", self._edge),
            **dict.fromkeys("beSF", self._async_edge),
            **dict.fromkeys("iIR", self._instant),
            **dict.fromkeys("nTp", self._async_instant),
            **dict.fromkeys("stf", self._flow_end),
            "C": self._counter,
            "M": self._name,
        }

    def add(self, events: Sequence[Json]) -> int:
        """Take events in; how many of them had a phase of the format."""
        known = 0
        for event in events:
            self._place += 1
            phase = event.get("ph") if isinstance(event, dict) else None
            handler = self._handlers.get(phase) if isinstance(phase, str) else None
            if handler is not None:
                handler(event)
                known += 1
            elif isinstance(phase, str) and phase in _SILENT:
                known += 1
        return known

    def _complete(self, event: Event) -> None:
        time = _number(event.get("ts"))
        if time is not None:
            self._add_slice(event, time, _number(event.get("dur")) or 0, self._thread(event), self._place)

    def _add_slice(self, event: Event, time: float, duration: float, thread: int, place: int) -> int:
        name, category = self._text(event.get("name")), self._text(event.get("cat"))
        handle = self._slices.add(time, thread, name, category=category)
        self._slices.duration.append(duration if duration > 0 else 0)
        self._slices.place.append(place)
        _take_args(self._slice_args, handle, event.get("args"))
        return handle

    def _edge(self, event: Event) -> None:
        time = _number(event.get("ts"))
        if time is not None:
            self._edges[self._thread(event)].append(_Edge(time, event["ph"] == "B", event, self._place))

    def _async_edge(self, event: Event) -> None:
        time = _number(event.get("ts"))
        if time is not None:
            edge = _Edge(time, event["ph"] in "bS", event, self._place)
            self._edges[self._async_thread(event)].append(edge)

    def _instant(self, event: Event) -> None:
        self._add_instant(event, self._thread(event))

    def _async_instant(self, event: Event) -> None:
        self._add_instant(event, self._async_thread(event))

    def _add_instant(self, event: Event, thread: int) -> None:
        time = _number(event.get("ts"))
        if time is None:
            return
        name, category = self._text(event.get("name")), self._text(event.get("cat"))
        handle = self._instants.add(time, thread, name, category=category)
        _take_args(self._instant_args, handle, event.get("args"))

    def _counter(self, event: Event) -> None:
        time, args = _number(event.get("ts")), event.get("args")
        if time is None or not isinstance(args, dict):
            return
        name = _plain(event.get("name"))
        if "id" in event:
            name = f"{name}[{_plain(event['id'])}]"
        thread = self._thread(event)
        for series, value in args.items():
            if type(value) in (int, float) and math.isfinite(value):
                text = name if series == "value" else f"{name} {series}"
                self._counters.add(time, thread, self._builder.string(text), value=value)

    def _flow_end(self, event: Event) -> None:
        time = _number(event.get("ts"))
        if time is not None:
            self._flow_ends.append((event, time, self._thread(event), self._place))

    def _name(self, event: Event) -> None:
        args = event.get("args")
        text = _plain(args.get("name")) if isinstance(args, dict) else ""
        if event.get("name") == "process_name":
            self._process_names[_identity(event.get("pid"))] = text
        elif event.get("name") == "thread_name":
            self._thread_names[self._thread(event)] = text

    def _text(self, value: Json) -> int:
        return self._builder.string(_plain(value))

    def _thread(self, event: Event) -> int:
        key = (_identity(event.get("pid")), _identity(event.get("tid")))
        return self._threads.setdefault(key, len(self._threads))

    def _async_thread(self, event: Event) -> int:
        """Events of one id share a track of their own, named like the first of them."""
        number = event.get("id", event.get("id2", event.get("scope")))
        key = (_identity(event.get("pid")), f"{_plain(event.get('cat'))} {_plain(number)}".strip())
        thread = self._threads.setdefault(key, len(self._threads))
        self._thread_names.setdefault(thread, _plain(event.get("name")))
        return thread

    def build(self, metadata: dict[str, Json]) -> Trace:
        """The trace of all events taken in."""
        self._close_edges()
        builder, slices = self._builder, self._slices
        builder.metadata.update(metadata)
        track = self._add_tracks()
        times = _nanoseconds(slices.time)
        builder.slices(times, _nanoseconds(slices.duration), track[slices.thread], slices.name, slices.category)
        for key, given in self._slice_args.items():
            builder.slice_args(key, given.handles, given.values)
        instants, counters = self._instants, self._counters
        builder.instants(_nanoseconds(instants.time), track[instants.thread], instants.name, instants.category)
        for key, given in self._instant_args.items():
            builder.instant_args(key, given.handles, given.values)
        builder.counters(_nanoseconds(counters.time), track[counters.thread], counters.name, counters.value)
        points = self._flow_points(track)
        trace = builder.build()
        places = np.empty(len(slices.place), dtype=np.int64)
        places[builder.row_of_slice] = slices.place
        tracks = {(row.pid, row.tid): number for number, row in reversed(list(enumerate(trace.tracks)))}
        threads = [tracks[row.pid, row.tid] for row in trace.tracks]
        return replace(trace, flows=bind(points, trace.slices, threads, places))

    def _add_tracks(self) -> Int64s:
        """Track of every thread, -1 for those that only a name was heard of."""
        used = {*self._slices.thread, *self._instants.thread, *self._counters.thread}
        track = np.full(len(self._threads), -1, dtype=np.int64)
        for (pid, tid), thread in self._threads.items():
            if thread in used:
                name = self._thread_names.get(thread, "")
                track[thread] = self._builder.track(Track(pid, tid, name, self._process_names.get(pid, "")))
        return track

    def _flow_points(self, track: Int64s) -> list[FlowPoint]:
        times = _nanoseconds([time for _, time, _, _ in self._flow_ends]).tolist()
        points = []
        for (event, _, thread, place), time in zip(self._flow_ends, times, strict=True):
            name, phase = _plain(event.get("name")), event["ph"]
            key = (_plain(event.get("cat")), name, _plain(event.get("id", event.get("bind_id"))))
            at_next = phase == "f" and event.get("bp") != "e"
            points.append(FlowPoint(key, self._builder.string(name), phase, time, int(track[thread]), place, at_next))
        return points

    def _close_edges(self) -> None:
        """Make slices of begins and ends; an end takes the innermost open begin of its name, or of any without one."""
        unfinished: list[tuple[int, _Edge]] = []
        for thread, edges in self._edges.items():
            edges.sort(key=lambda edge: edge.time)
            opened: list[_Edge] = []
            for edge in edges:
                if edge.is_begin:
                    opened.append(edge)
                    continue
                begin = _take_begin(opened, edge.event.get("name"))
                if begin is not None:
                    handle = self._add_slice(begin.event, begin.time, edge.time - begin.time, thread, begin.place)
                    _take_args(self._slice_args, handle, edge.event.get("args"))
            unfinished += [(thread, begin) for begin in opened]
        last = self._last_moment() if unfinished else 0
        for thread, begin in unfinished:
            handle = self._add_slice(begin.event, begin.time, last - begin.time, thread, begin.place)
            _take_args(self._slice_args, handle, {"unfinished": True})

    def _last_moment(self) -> float:
        slices = self._slices
        ends = (time + duration for time, duration in zip(slices.time, slices.duration, strict=True))
        edges = (edge.time for edges in self._edges.values() for edge in edges)
        return max((*ends, *edges, *self._instants.time, *self._counters.time), default=0)


def _take_begin(opened: list[_Edge], name: Json) -> _Edge | None:
    for place in range(len(opened) - 1, -1, -1):
        if name is None or name == "" or opened[place].event.get("name") == name:
            return opened.pop(place)
    return None


def _take_args(columns: dict[str, _Values], handle: int, args: Json) -> None:
    if args is None:
        return
    if not isinstance(args, dict):
        args = {"args": args}
    for key, value in args.items():
        column = columns[key]
        column.handles.append(handle)
        column.values.append(value)


def _number(value: Json) -> float | None:
    """A time in microseconds, from a number or its text; None where it is neither or out of reach."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if type(value) not in (int, float) or not -_FURTHEST_US < value < _FURTHEST_US:
        return None
    return value  # type: ignore[no-any-return]  # narrowed by the line above


def _nanoseconds(microseconds: Sequence[float]) -> Int64s:
    """Rounded to the nearest; exact for times with three decimals up to 50 days."""
    times: NDArray[Any] = np.array(microseconds)
    if times.dtype.kind == "i":
        return np.asarray(times, dtype=np.int64) * 1000
    times = times.astype(np.float64)
    whole = np.floor(times)
    rest = np.rint((times - whole) * 1000)
    nanoseconds: Int64s = whole.astype(np.int64) * 1000 + rest.astype(np.int64)
    return nanoseconds


def _identity(value: Json) -> int | str:
    """A pid or tid; 0 where there is none. Some tracers write the number of a thread as text in one event of many."""
    if type(value) is int:
        return value
    if isinstance(value, str):
        return int(value) if len(value) < 19 and value.isdecimal() and value.isascii() else value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return 0 if value is None else str(value)


def _plain(value: Json) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else str(value)
