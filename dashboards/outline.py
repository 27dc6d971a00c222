"""What the trace page knows of its timeline before any tile is fetched."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from perflab.profiler.analysis.steps import Step
from perflab.profiler.trace import Trace

from . import theme, units
from .timeline import NO_COUNTER, Band, Window, bands

# What counters of bytes are called; traces do not say what their counters count.
_IN_BYTES = re.compile(r"alloc|reserved|active|rss\b|mem|byte", re.IGNORECASE)


@dataclass(frozen=True)
class Outline:
    """The timeline's bands and extent in ns, its steps and what its colours mean.

    `highest` is the largest value of each band that is a counter, 0 of the others.
    """

    begin: int
    length: int
    bands: tuple[Band, ...]
    highest: Sequence[float]
    steps: Sequence[Step]
    legend: Sequence[theme.Category]
    slices: int
    values: int

    @property
    def note(self) -> str:
        """One sentence on what is there."""
        tracks = sum(band.counter == NO_COUNTER for band in self.bands)
        counted = f", {_counted(self.values, 'counter value')}" if self.values else ""
        return (
            f"{_counted(self.slices, 'slice')} on {_counted(tracks, 'track')}{counted}, {units.duration(self.length)}"
        )

    def data(self, address: str, window: Window) -> dict[str, object]:
        """For the page's module: where tiles come from, the stretch to open on, and all that does not change; in ns
        since the trace's first moment."""
        return {
            "address": address,
            "length": self.length,
            "window": {"start": window.start - self.begin, "end": window.end - self.begin},
            "bands": [
                asdict(band)
                | {
                    "counter": band.counter != NO_COUNTER,
                    "bytes": _IN_BYTES.search(band.label) is not None,
                    "highest": highest,
                }
                for band, highest in zip(self.bands, self.highest, strict=True)
            ],
            "steps": [[step.number, step.start - self.begin, step.duration] for step in self.steps],
        }


def outline(trace: Trace, steps: Sequence[Step]) -> Outline:
    """The outline of a trace with these steps."""
    begin, end = trace.span()
    found = bands(trace)
    counts = np.bincount(trace.slices.category)
    names = [trace.strings[index] for index in np.argsort(-counts, kind="stable").tolist() if counts[index]]
    return Outline(
        begin=begin,
        length=max(end - begin, 1),
        bands=found,
        highest=[_highest(trace, band) for band in found],
        steps=steps,
        legend=list(dict.fromkeys(theme.category(name) for name in names)),
        slices=len(trace.slices),
        values=len(trace.counters),
    )


def _highest(trace: Trace, band: Band) -> float:
    own = (trace.counters.track == band.track) & (trace.counters.name == band.counter)
    return float(trace.counters.value[own].max(initial=0.0))


def _counted(count: int, word: str) -> str:
    return f"{units.whole(count)} {word}" if count == 1 else f"{units.whole(count)} {word}s"
