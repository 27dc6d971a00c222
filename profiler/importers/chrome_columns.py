"""Gives a TraceBuilder the events that the core parsed into columns."""

from collections.abc import Callable
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..args import by_row, coded, joined_values
from ..builder import TraceBuilder
from ..trace import Args, Int32s, Int64s, Json, Trace
from . import lenient
from .chrome_flows import FlowNames, FlowPoints
from .findings import EXAMPLES, Example, Findings
from .spill import Kept, Spill

if TYPE_CHECKING:
    from perflab.runtime._core import ChromeParser

# What each word of an argument's column is: ParsedKind in core/chrome_parse.h.
_INT, _FLOAT, _BOOL, _TEXT = range(4)
NO_TIME = -(2**63)  # kNoTime there
GiveArgs: TypeAlias = Callable[..., None]


class ParsedColumns:
    """What a parser has taken in, once the file has ended. `thread` gives the number of a pid and a tid."""

    def __init__(
        self,
        parser: "ChromeParser",
        spill: Spill,
        builder: TraceBuilder,
        thread: Callable[[Json, Json], int],
        findings: Findings,
    ) -> None:
        self._parser = parser
        self._spill = spill
        self._first_slice = self._first_instant = 0  # handles
        self._builder = builder
        self._findings = findings
        self._texts: list[Json] = [self._text(text) for text in parser.texts]
        self._texts.append(None)  # what an event does not say has the number -1
        pairs = [(self._texts[pid], self._texts[tid]) for pid, tid in parser.threads]
        self._threads = np.array([thread(pid, tid) for pid, tid in pairs], dtype=np.int32)
        self._strings = np.full(len(self._texts), -1, dtype=np.int32)  # by text: its id in the builder
        self.last_ns = 0  # when the last of them ends

    def _text(self, text: bytes) -> Json:
        """A value that is no plain number."""
        try:
            value = lenient.loads(text)
        except ValueError:
            self._findings.add("not-json", examples=[ascii(text[:60].decode("utf-8", "replace"))])
            return None
        if isinstance(value, str):
            if "\ufffd" in value:
                self._findings.add("lossy-names", examples=[value[:60]])
            elif not value.isprintable() and any(byte < 0x20 for byte in text):
                self._findings.add("raw-text", examples=[ascii(value[:60])])
        elif isinstance(value, float) and not isfinite(value):
            return None
        return value

    def give_slices(self) -> Int64s:
        """Gives the complete slices; their places in the file."""
        start, written, thread, name, category, place = self._spill.slices.columns()
        duration = np.maximum(written, 0)

        def told(rows: Int64s) -> list[Example]:
            return [
                (f"{plain(self._texts[name[row]])!r} at {start[row]:,} ns (event {place[row]:,})", int(start[row]))
                for row in rows[:EXAMPLES].tolist()
            ]

        absent = written == NO_TIME
        later = np.flatnonzero(np.diff(start) < 0) + 1
        for kind, rows in (
            ("no-duration", np.flatnonzero(absent)),
            ("negative-duration", np.flatnonzero((written < 0) & ~absent)),
            ("unsorted", later),
        ):
            self._findings.add(kind, len(rows), told(rows))
        self._meet(start + duration)
        self._first_slice = self._builder.slices(
            start, duration, self._threads[thread], self._string_ids(name), self._string_ids(category)
        )
        if not self._spill.is_used:
            self._give_args(self._builder.slice_args, self._first_slice, self._spill.slices)
        return place

    def give_instants(self) -> int:
        """Gives the instants; how many there were."""
        time, thread, name, category = self._spill.instants.columns()
        self._meet(time)
        self._first_instant = self._builder.instants(
            time, self._threads[thread], self._string_ids(name), self._string_ids(category)
        )
        if not self._spill.is_used:
            self._give_args(self._builder.instant_args, self._first_instant, self._spill.instants)
        return len(time)

    def with_spilled(self, trace: Trace) -> Trace:
        """The trace that was built of what was given, with the arguments that waited in a file."""
        if not self._spill.is_used:
            return trace
        builder, spill = self._builder, self._spill
        return replace(
            trace,
            slice_args=self._spilled(trace.slice_args, spill.slices, builder.row_of_slice, self._first_slice),
            instant_args=self._spilled(trace.instant_args, spill.instants, builder.row_of_instant, self._first_instant),
        )

    def _spilled(self, args: Args, kind: Kept, row_of: Int64s, first: int) -> Args:
        found, rows = dict(args), dict[bytes, Int64s]()
        for key in list(kind.args):
            events, words, kinds = self._spill.words(kind, key)
            column = coded(row_of[first + events], *self._values(words, kinds))
            name = plain(self._text(key))
            pieces = [found[name], column] if name in found else [column]
            places = np.concatenate([piece.rows for piece in pieces])
            found[name] = self._spill.mapped(by_row(places, *joined_values(pieces)), rows)
        return found

    def give_counters(self) -> None:
        """Gives the values of counters, named by event and series."""
        time, thread, name, series, value = self._parser.take_counters()
        self._meet(time)
        both, which = np.unique(np.stack((name, series)), axis=1, return_inverse=True)
        texts = [counter_name(plain(self._texts[n]), plain(self._texts[s])) for n, s in both.T.tolist()]
        ids = np.array([self._builder.string(text) for text in texts], dtype=np.int32)
        self._builder.counters(time, self._threads[thread], ids[which], value)

    def give_flows(self, names: FlowNames) -> FlowPoints:
        """The ends of flows. A thread's number is its place in `flow_threads`."""
        time, place, number, thread, name, category, phase, at_next = self._parser.take_flows()
        count = len(self._texts)
        both, which = np.unique((category.astype(np.int64) + 1) * count + name + 1, return_inverse=True)
        pairs = [tuple(plain(self._texts[text - 1]) for text in divmod(one, count)) for one in both.tolist()]
        groups = np.array([names.group(category, name) for category, name in pairs], dtype=np.int32)
        strings = np.array([self._builder.string(text) for _, text in pairs], dtype=np.int32)
        return FlowPoints(groups[which], number, strings[which], phase, time, thread, place, at_next.astype(np.bool_))

    @property
    def flow_threads(self) -> list[tuple[Json, Json]]:
        """Pid and tid of each."""
        return [(self._texts[pid], self._texts[tid]) for pid, tid in self._parser.flow_threads]

    def _meet(self, times: Int64s) -> None:
        self.last_ns = max(self.last_ns, int(times.max(initial=0)))

    def _string_ids(self, texts: Int32s) -> Int32s:
        fresh = np.unique(texts)
        for text in fresh[self._strings[fresh] < 0].tolist():
            self._strings[text] = self._builder.string(plain(self._texts[text]))
        return self._strings[texts]

    def _give_args(self, give: GiveArgs, first: int, kind: Kept) -> None:
        for key in list(kind.args):
            events, words, kinds = self._spill.words(kind, key)
            values, table = self._values(words, kinds)
            give(plain(self._text(key)), first + events, values, table)

    def _values(self, words: Int64s, kinds: NDArray[np.uint8]) -> tuple[Any, list[Json] | None]:
        """Values as `TraceBuilder.slice_args` takes them: an array of one type, or ids and the table they are of."""
        present = np.unique(kinds).tolist()
        if present == [_INT]:
            return words, None
        if present == [_FLOAT]:
            return words.view(np.float64), None
        if present == [_BOOL]:
            return words.astype(np.bool_), None
        if present == [_TEXT]:
            used, codes = np.unique(words, return_inverse=True)
            return codes, [self._texts[text] for text in used.tolist()]
        made: list[Json] = words.tolist()
        for kind, values in ((_FLOAT, words.view(np.float64).tolist()), (_BOOL, words.astype(np.bool_).tolist())):
            for row in np.flatnonzero(kinds == kind).tolist():
                made[row] = values[row]
        for row in np.flatnonzero(kinds == _TEXT).tolist():
            made[row] = self._texts[made[row]]
        return made, None


def plain(value: Json) -> str:
    """A name, category or id as text, whatever a tracer wrote there; nothing for what it left out."""
    if isinstance(value, str):
        return value
    return "" if value is None else str(value)


def counter_name(name: str, series: str) -> str:
    """The name of one series of a counter's event."""
    return name if series == "value" else f"{name} {series}"
