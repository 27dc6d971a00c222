"""Turns Chrome trace events into a Trace: slices from X, B/E and async events, counters, instants and flows."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from itertools import count, repeat
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..args import spelling
from ..builder import TraceBuilder
from ..trace import Int64s, Json, Trace, Track
from .chrome_columns import NO_TIME, ParsedColumns, counter_name, plain
from .chrome_flows import FlowNames, FlowPoints, bind, joined, points_of
from .findings import Findings
from .open_begins import OpenBegins
from .spill import Spill

if TYPE_CHECKING:
    from perflab.runtime._core import ChromeParser

Event: TypeAlias = dict[str, Any]
Thread: TypeAlias = tuple[int | str, int | str]  # pid and tid
ArgRows: TypeAlias = dict[str, list[tuple[int, Json]]]  # by key: handle and value

_FURTHEST_US = 4e15  # beyond this a time in nanoseconds, or the sum of two, does not fit 64 bits
_SILENT = frozenset("PNODRVvac(),")  # phases of the format that put nothing on our timeline
_BUFFERED = 1 << 14  # events kept as objects; long lists of them would slow the garbage collector down


@dataclass(frozen=True, slots=True)
class _Edge:
    """A begin or an end of a slice."""

    time: int  # ns
    is_begin: bool
    event: Event
    place: int


class EventReader:
    """Takes events in the order of the file, then builds the trace."""

    def __init__(self, findings: Findings, spill: Spill) -> None:
        self._findings = findings
        self._builder = TraceBuilder()
        self._threads: dict[Thread, int] = {}
        self._async_threads: dict[tuple[int | str | None, ...], int] = {}  # by category, scope, id and process
        self._thread_names: dict[Thread, str] = {}
        self._process_names: dict[int | str, str] = {}
        self.known = 0  # events with a phase of the format
        self._singles = 0  # events that came one by one
        self._place = 0  # of an event in the file
        self._time: int | None = None  # of the event, in ns
        self._last = 0  # moment of what is flushed
        self._added = 0  # slices and instants so far: their handles
        self._added_instants = 0
        self._slices: list[tuple[int, int, int, int, int, int]] = []
        self._instants: list[tuple[int, int, int, int]] = []
        self._counters: list[tuple[int, int, int, float]] = []
        self._slice_args: ArgRows = defaultdict(list)
        self._instant_args: ArgRows = defaultdict(list)
        self._shared: dict[bytes | str, Json] = {}  # values of arguments, one of equal ones
        self._places: list[Int64s] = []  # of slices in the file
        self._edges: dict[int, list[_Edge]] = defaultdict(list)
        self._flow_rows: list[tuple[int, ...]] = []  # of those that came one by one
        self._flow_points: list[FlowPoints] = []
        self._flow_names = FlowNames()
        self._spill = spill
        self._parsed: ParsedColumns | None = None
        self._flow_threads: dict[Thread, int] = {}
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

    def add(
        self, events: Sequence[Json], places: Iterable[int] | None = None, times: Iterable[int] | None = None
    ) -> None:
        """Take events in, from these places in the file, else from one after the other. `times` are their moments in
        ns, NO_TIME where what an event says of it is to be read."""
        for event, place, time in zip(events, places or count(self._place + 1), times or repeat(NO_TIME), strict=False):
            self._place = place
            self._singles += 1
            phase = event.get("ph") if isinstance(event, dict) else None
            handler = self._handlers.get(phase) if isinstance(phase, str) else None
            if handler is not None:
                self.known += 1
                self._time = nanoseconds(event.get("ts")) if time == NO_TIME else time
                if self._time is None and phase != "M":
                    self._findings.add("no-time", examples=[self._told(event)])
                else:
                    handler(event)
            elif isinstance(phase, str) and phase in _SILENT:
                self.known += 1
            elif event != {}:  # which ends the lists of some tools
                self._findings.add("unknown-event", examples=[f"event {place:,}: {ascii(event)[:60]}"])
            if len(self._slices) + len(self._instants) + len(self._counters) >= _BUFFERED:
                self._flush()

    def _told(self, event: Event) -> str:
        return f"{plain(event.get('name'))!r} (event {self._place:,})"

    def relieve(self, parser: "ChromeParser") -> None:
        """Take from a parser what it holds, where that is much."""
        self._spill.relieve(parser)

    def add_parsed(self, parser: "ChromeParser") -> None:
        """Take in the columns of a parser whose file has ended."""
        self._flush()
        self._spill.rest(parser)
        self._parsed = columns = ParsedColumns(parser, self._spill, self._builder, self._number, self._findings)
        places = columns.give_slices()
        self._places.append(places)
        self._added += len(places)
        self._added_instants += columns.give_instants()
        columns.give_counters()
        points = columns.give_flows(self._flow_names)
        numbers = [self._flow_thread(_thread_of({"pid": pid, "tid": tid})) for pid, tid in columns.flow_threads]
        self._flow_points.append(replace(points, thread=np.array(numbers, dtype=np.int32)[points.thread]))
        self.known += parser.events - parser.strangers - self._singles
        self._last = max(self._last, columns.last_ns)

    def _number(self, pid: Json, tid: Json) -> int:
        return self._threads.setdefault(_thread_of({"pid": pid, "tid": tid}), len(self._threads))

    def _complete(self, event: Event) -> None:
        assert self._time is not None
        written = nanoseconds(event.get("dur"))
        if written is None or written < 0:
            self._findings.add("no-duration" if written is None else "negative-duration", examples=[self._told(event)])
        self._add_slice(event, self._time, max(written or 0, 0), self._thread(event), self._place)
        if "bind_id" in event:
            self._flow_of_slice(event)

    def _add_slice(self, event: Event, time: int, duration: int, thread: int, place: int) -> int:
        text = self._builder.string
        name, category = text(plain(event.get("name"))), text(plain(event.get("cat")))
        self._slices.append((time, duration, thread, name, category, place))
        handle, self._added = self._added, self._added + 1
        args = event.get("args")
        if args:
            self._take_args(self._slice_args, handle, args)
        return handle

    def _take_args(self, columns: ArgRows, handle: int, args: Json) -> None:
        if not isinstance(args, dict):
            args = {"args": args}
        for key, value in args.items():
            if isinstance(value, str):
                value = self._shared.setdefault(value, value)
            elif isinstance(value, list | dict):
                value = self._shared.setdefault(spelling(value), value)
            columns[key].append((handle, value))

    def _edge(self, event: Event) -> None:
        assert self._time is not None
        self._edges[self._thread(event)].append(_Edge(self._time, event["ph"] == "B", event, self._place))

    def _async_edge(self, event: Event) -> None:
        assert self._time is not None
        edge = _Edge(self._time, event["ph"] in "bS", event, self._place)
        self._edges[self._async_thread(event)].append(edge)

    def _instant(self, event: Event) -> None:
        self._add_instant(event, self._thread(event))

    def _async_instant(self, event: Event) -> None:
        self._add_instant(event, self._async_thread(event))

    def _add_instant(self, event: Event, thread: int) -> None:
        assert self._time is not None
        text = self._builder.string
        self._instants.append((self._time, thread, text(plain(event.get("name"))), text(plain(event.get("cat")))))
        if event.get("args"):
            self._take_args(self._instant_args, self._added_instants, event["args"])
        self._added_instants += 1

    def _counter(self, event: Event) -> None:
        time, args = self._time, event.get("args")
        if time is None or not isinstance(args, dict):
            return
        name = plain(event.get("name"))
        if "id" in event:
            name = f"{name}[{plain(event['id'])}]"
        for series, value in args.items():
            number = _number(value)
            if number is None:
                self._findings.add("no-value", examples=[(f"{series!r} of {self._told(event)}", time)])
                continue
            text = self._builder.string(counter_name(name, series))
            self._counters.append((time, self._thread(event), text, number))

    def _flow_end(self, event: Event) -> None:
        name, phase = plain(event.get("name")), event["ph"]
        flow = self._flow_names.of(plain(event.get("cat")), name, plain(event.get("id", event.get("bind_id"))))
        self._add_flow_end(event, flow, name, phase, at_next=phase == "f" and event.get("bp") != "e")

    def _flow_of_slice(self, event: Event) -> None:
        """A slice that says itself which flows lead into it or out of it: all of one `bind_id` are one flow."""
        ways = (bool(event.get("flow_out")), bool(event.get("flow_in")))
        if any(ways):
            phase = {(True, False): "s", (True, True): "t", (False, True): "f"}[ways]
            flow = self._flow_names.of("", "bind_id", plain(event["bind_id"]))
            self._add_flow_end(event, flow, plain(event.get("name")), phase, at_next=False)

    def _add_flow_end(self, event: Event, flow: tuple[int, int], name: str, phase: str, *, at_next: bool) -> None:
        assert self._time is not None
        text, thread = self._builder.string(name), self._flow_thread(_thread_of(event))
        self._flow_rows.append((*flow, text, ord(phase), self._time, thread, self._place, at_next))

    def _flow_thread(self, thread: Thread) -> int:
        """The number of a thread among those of flows: it need have no track."""
        return self._flow_threads.setdefault(thread, len(self._flow_threads))

    def _name(self, event: Event) -> None:
        args = event.get("args")
        text = plain(args.get("name")) if isinstance(args, dict) else ""
        if event.get("name") == "process_name":
            self._process_names[_identity(event.get("pid"))] = text
        elif event.get("name") == "thread_name":
            self._thread_names[_thread_of(event)] = text

    def _thread(self, event: Event) -> int:
        return self._threads.setdefault(_thread_of(event), len(self._threads))

    def _async_thread(self, event: Event) -> int:
        """Events of one category, scope and id share a track of their own, in the process and with the name of the
        first of them. Other processes may take part, unless the id is said to be local."""
        told = event.get("id", event.get("id2", event.get("scope")))
        pid, is_local = _identity(event.get("pid")), False
        if isinstance(told, dict):
            is_local = "global" not in told
            told = told.get("local" if is_local else "global")
        words = [plain(event.get("cat")), plain(event.get("scope")), plain(told)]
        key = (*words, pid if is_local else None)
        if key not in self._async_threads:
            thread = (pid, " ".join(filter(None, words)))
            self._thread_names.setdefault(thread, plain(event.get("name")))
            self._async_threads[key] = self._threads.setdefault(thread, len(self._threads))
        return self._async_threads[key]

    def _flush(self) -> None:
        """Hand what is buffered to the builder. A thread's number will be its track's."""
        builder = self._builder
        if self._slices:
            time, duration, thread, name, category, place = zip(*self._slices, strict=True)
            self._last = max(self._last, *(begin + length for begin, length in zip(time, duration, strict=True)))
            builder.slices(time, duration, thread, name, category)
            self._places.append(np.array(place))
        if self._instants:
            time, thread, name, category = zip(*self._instants, strict=True)
            self._last = max(self._last, *time)
            builder.instants(time, thread, name, category)
        if self._counters:
            time, thread, name, value = zip(*self._counters, strict=True)
            self._last = max(self._last, *time)
            builder.counters(time, thread, name, value)
        for give, columns in ((builder.slice_args, self._slice_args), (builder.instant_args, self._instant_args)):
            for key, rows in columns.items():
                handles, values = zip(*rows, strict=True)
                give(key, handles, values)
        for buffer in (self._slices, self._instants, self._counters, self._slice_args, self._instant_args):
            buffer.clear()

    def build(self, metadata: dict[str, Json]) -> Trace:
        """The trace of all events taken in."""
        self._flush()
        self._close_edges()
        self._flush()
        builder = self._builder
        builder.metadata.update(metadata)
        for pid, tid in self._threads:
            name, process = self._thread_names.get((pid, tid), ""), self._process_names.get(pid, "")
            builder.track(Track(pid, tid, name, process))
        trace = builder.build()
        places = np.empty(len(trace.slices), dtype=np.int64)
        places[builder.row_of_slice] = np.concatenate([*self._places, np.empty(0, dtype=np.int64)])
        threads = [self._flow_threads.get((track.pid, track.tid), -1) for track in trace.tracks]
        points = joined([*self._flow_points, points_of(self._flow_rows)])
        self._flow_points.clear()
        trace = replace(trace, flows=bind(points, trace.slices, threads, places, self._findings))
        return trace if self._parsed is None else self._parsed.with_spilled(trace)

    def _close_edges(self) -> None:
        """Make slices of begins and ends; an end takes the innermost open begin that it may mean."""
        unfinished: list[tuple[int, _Edge]] = []
        for thread, edges in self._edges.items():
            edges.sort(key=lambda edge: edge.time)
            self._last = max(self._last, edges[-1].time)
            opened = OpenBegins[_Edge]()
            for edge in edges:
                name, category = plain(edge.event.get("name")) or None, plain(edge.event.get("cat")) or None
                if edge.is_begin:
                    opened.add(name, category, edge)
                    continue
                begin = opened.take(name, category)
                if begin is None:
                    told = f"{plain(edge.event.get('name'))!r} at {edge.time:,} ns (event {edge.place:,})"
                    self._findings.add("stray-end", examples=[(told, edge.time)])
                else:
                    handle = self._add_slice(begin.event, begin.time, edge.time - begin.time, thread, begin.place)
                    if edge.event.get("args"):
                        self._take_args(self._slice_args, handle, edge.event["args"])
            unfinished += [(thread, begin) for begin in opened.left()]
        for thread, begin in unfinished:
            handle = self._add_slice(begin.event, begin.time, self._last - begin.time, thread, begin.place)
            self._take_args(self._slice_args, handle, {"unfinished": True})
            told = f"{plain(begin.event.get('name'))!r} from {begin.time:,} ns (event {begin.place:,})"
            self._findings.add("unfinished", examples=[(told, begin.time)])


def nanoseconds(microseconds: Json) -> int | None:
    """A time from a number or its decimal text, rounded to the nearest; None where it is neither or out of reach."""
    if type(microseconds) is int:
        return microseconds * 1000 if -_FURTHEST_US < microseconds < _FURTHEST_US else None
    if isinstance(microseconds, str):
        try:
            exact = Decimal(microseconds)
        except InvalidOperation:
            return None
        if not exact.is_finite() or not -_FURTHEST_US < exact < _FURTHEST_US:
            return None
        return int((exact * 1000).to_integral_value(ROUND_HALF_UP))
    if type(microseconds) is not float or not -_FURTHEST_US < microseconds < _FURTHEST_US:
        return None
    whole = math.floor(microseconds)
    return whole * 1000 + round((microseconds - whole) * 1000)


def _number(value: Json) -> float | None:
    """The value of a counter, which some tracers write as text."""
    if type(value) not in (int, float, str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _thread_of(event: Event) -> Thread:
    """Where no thread is named it is the process's first, as Perfetto has it."""
    pid, tid = event.get("pid"), event.get("tid")
    if tid is None:
        tid = pid
    if type(pid) is type(tid) is int:
        return pid, tid
    return _identity(pid), _identity(tid)


def _identity(value: Json) -> int | str:
    """A pid or tid; 0 where there is none. Some tracers write the number of a thread as text in one event of many."""
    if type(value) is int:
        return value
    if isinstance(value, str):
        return int(value) if len(value) < 19 and value.isdecimal() and value.isascii() else value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return 0 if value is None else str(value)
