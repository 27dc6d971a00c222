"""speedscope's own files: profiles of begins and ends, or of samples with weights.

The format: https://github.com/jlfwong/speedscope/blob/main/src/lib/file-format-spec.ts
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, TypeAlias

from ..builder import TraceBuilder
from ..errors import TraceFormatError
from ..trace import Json, Trace, Track
from .findings import Findings

FORMAT = "speedscope"
KEYS = {"shared", "profiles"}
_NS = {"nanoseconds": 1, "microseconds": 1_000, "milliseconds": 1_000_000, "seconds": 1_000_000_000}
_FURTHEST = 4 * 10**18  # ns
Frame: TypeAlias = dict[str, Any]


def read(document: dict[str, Json], name: str, findings: Findings) -> Trace:
    """Each profile becomes a track, each frame a slice while it is on the stack; raises TraceFormatError."""
    shared, profiles = document["shared"], document["profiles"]
    frames = shared.get("frames") if isinstance(shared, dict) else None
    if not isinstance(frames, list) or not isinstance(profiles, list):
        raise TraceFormatError(f"{name}: a speedscope file without its list of frames or profiles; export it again")
    builder = TraceBuilder({"tool": document["exporter"]} if isinstance(document.get("exporter"), str) else None)
    for number, profile in enumerate(profiles):
        if isinstance(profile, dict):
            _Profile(builder, frames, profile, number, findings).read()
    return builder.build()


class _Profile:
    def __init__(
        self, builder: TraceBuilder, frames: list[Json], profile: dict[str, Json], number: int, findings: Findings
    ) -> None:
        self._builder = builder
        self._frames = frames
        self._profile = profile
        self._findings = findings
        name = profile.get("name")
        self._track = Track(1, number + 1, name if isinstance(name, str) else "", "speedscope")
        unit = profile.get("unit")
        scale = _NS.get(unit) if isinstance(unit, str) else None
        if scale is None:
            findings.add("unit", unit=ascii(unit)[:40])
        self._scale = scale or 1

    def read(self) -> None:
        if self._profile.get("type") == "sampled":
            self._sampled()
        else:
            self._evented()

    def _evented(self) -> None:
        events = self._profile.get("events")
        opened: list[tuple[int, int]] = []  # frame, start
        last = self._ns(self._profile.get("startValue")) or 0
        for event in events if isinstance(events, list) else ():
            at = self._ns(event.get("at")) if isinstance(event, dict) else None
            frame = self._frame_number(event.get("frame")) if isinstance(event, dict) else None
            if at is None or frame is None:
                self._findings.add("no-time", examples=[ascii(event)[:60]])
                continue
            last = max(last, at)
            if event.get("type") == "O":
                opened.append((frame, at))
                continue
            place = next((place for place in range(len(opened) - 1, -1, -1) if opened[place][0] == frame), None)
            if place is None:
                self._findings.add("stray-end", examples=[(f"{self._name(frame)!r} at {at:,} ns", at)])
            else:
                self._add(frame, opened.pop(place)[1], at)
        end = max(last, self._ns(self._profile.get("endValue")) or 0)
        for frame, start in opened:
            self._findings.add("unfinished", examples=[(f"{self._name(frame)!r} from {start:,} ns", start)])
            self._add(frame, start, end, {"unfinished": True})

    def _sampled(self) -> None:
        samples, weights = self._profile.get("samples"), self._profile.get("weights")
        stacks = samples if isinstance(samples, list) else []
        widths = weights if isinstance(weights, list) else []
        self._findings.add("no-time", abs(len(stacks) - len(widths)), ["samples and weights differ in number"])
        at = self._ns(self._profile.get("startValue")) or 0
        pairs = []
        for stack, weight in zip(stacks, widths, strict=False):
            width = self._ns(weight)
            if width is None or width < 0:
                self._findings.add("no-time" if width is None else "negative-duration")
                continue
            numbers = [self._frame_number(frame) for frame in stack] if isinstance(stack, list) else []
            pairs.append(([number for number in numbers if number is not None], width))
        for frame, start, end in stretches(pairs, at):
            self._add(frame, start, end)

    def _add(self, frame: int, start: int, end: int, args: dict[str, Json] | None = None) -> None:
        if end < start:
            self._findings.add("negative-duration", examples=[(f"{self._name(frame)!r} at {start:,} ns", start)])
            end = start
        told = self._frames[frame]
        where = {key: told[key] for key in ("file", "line", "col") if isinstance(told.get(key), str | int)}
        self._builder.slice(
            self._name(frame), start, end - start, track=self._track, category="frame", args=where | (args or {})
        )

    def _name(self, frame: int) -> str:
        return str(self._frames[frame].get("name", ""))

    def _frame_number(self, value: Json) -> int | None:
        known = type(value) is int and 0 <= value < len(self._frames) and isinstance(self._frames[value], dict)
        return value if known else None

    def _ns(self, value: Json) -> int | None:
        if type(value) not in (int, float) or not -_FURTHEST < value < _FURTHEST:
            return None
        exact = round(Decimal(repr(value)) * self._scale)
        return exact if -_FURTHEST < exact < _FURTHEST else None


def stretches(samples: Iterable[tuple[list[int], int]], at: int) -> list[tuple[int, int, int]]:
    """Frame, start and end of what stays on the stack from one sample to the next, callers before what they call.
    Samples are stacks, the outermost frame first, and how long they stand for; the first begins `at`."""
    opened: list[tuple[int, int]] = []
    found = []
    for stack, width in samples:
        same = 0
        while same < min(len(opened), len(stack)) and opened[same][0] == stack[same]:
            same += 1
        while len(opened) > same:
            found.append((*opened.pop(), at))
        opened += [(frame, at) for frame in stack[same:]]
        at += width
    while opened:
        found.append((*opened.pop(), at))
    return found[::-1]
