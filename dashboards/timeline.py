"""The op timeline: the slices of one window of a trace, a row for each track and depth."""

from dataclasses import dataclass
from html import escape

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from perflab.profiler.trace import Trace, Track

from . import theme, units

Rows = npt.NDArray[np.int64]

SLICE_LIMIT = 2500
ROW_LIMIT = 48


@dataclass(frozen=True)
class Window:
    """A stretch of a trace to draw: [start, end) in ns of the trace's own clock, and what to call it."""

    start: int
    end: int
    label: str


@dataclass(frozen=True)
class Band:
    """The rows of one track: its depths `first_row` to `first_row + depths - 1`."""

    track: int
    label: str
    first_row: int
    depths: int


@dataclass(frozen=True)
class Timeline:
    """What is drawn of a window. `rows` are slice rows.

    Left out are `too_deep` slices, nested deeper than there are rows for, and of the others the `too_short`, which last
    less than `shortest_ns`.
    """

    window: Window
    rows: Rows
    bands: tuple[Band, ...]
    too_deep: int
    too_short: int
    shortest_ns: int

    @property
    def note(self) -> str:
        """One sentence on what is shown and what is left out."""
        shown = len(self.rows)
        total = shown + self.too_deep + self.too_short
        if shown == total:
            return f"all {units.whole(total)} slices of {self.window.label}"
        reasons = []
        if self.too_short:
            reasons.append(f"{units.whole(self.too_short)} shorter than {units.duration(self.shortest_ns)}")
        if self.too_deep:
            reasons.append(f"{units.whole(self.too_deep)} nested deeper than can be drawn")
        left_out = " and ".join(reasons)
        return f"{units.whole(shown)} of {units.whole(total)} slices of {self.window.label}; left out are {left_out}"


def select(trace: Trace, window: Window, limit: int = SLICE_LIMIT) -> Timeline:
    """Choose the slices of `window` to draw: the longest `limit` on ROW_LIMIT rows, shared by the tracks."""
    slices = trace.slices
    touching = np.flatnonzero((slices.start < window.end) & (slices.end > window.start))
    allowed = _shared(_depths(trace, touching))
    shallow = touching[slices.depth[touching] < allowed[slices.track[touching]]]
    by_length = np.argsort(-slices.duration[shallow], kind="stable")
    kept = np.sort(shallow[by_length[:limit]])
    return Timeline(
        window=window,
        rows=kept,
        bands=_bands(trace, _depths(trace, kept)),
        too_deep=len(touching) - len(shallow),
        too_short=len(shallow) - len(kept),
        shortest_ns=int(slices.duration[kept].min()) if len(kept) else 0,
    )


def _depths(trace: Trace, rows: Rows) -> Rows:
    """How many depths each track needs for these slices."""
    depths = np.zeros(len(trace.tracks), dtype=np.int64)
    np.maximum.at(depths, trace.slices.track[rows], trace.slices.depth[rows] + 1)
    return depths


def _shared(wanted: Rows) -> Rows:
    """ROW_LIMIT rows among tracks: all that it wants to a track of few, and an equal part to those of many."""
    if wanted.sum() <= ROW_LIMIT:
        return wanted
    given = np.zeros_like(wanted)
    left = ROW_LIMIT
    waiting = int(np.count_nonzero(wanted))
    for track in np.argsort(wanted, kind="stable")[len(wanted) - waiting :].tolist():
        rows = min(int(wanted[track]), max(left // waiting, 1), left)
        given[track] = rows
        left -= rows
        waiting -= 1
    return given


def _bands(trace: Trace, depths: Rows) -> tuple[Band, ...]:
    shown = np.flatnonzero(depths)
    several_processes = len({trace.tracks[track].process for track in shown if trace.tracks[track].process}) > 1
    bands = []
    next_row = 0
    for track in shown.tolist():
        label = track_label(trace.tracks[track])
        if several_processes and trace.tracks[track].process:
            label = f"{trace.tracks[track].process} / {label}"
        bands.append(Band(track, label, next_row, int(depths[track])))
        next_row += int(depths[track])
    return tuple(bands)


def figure(trace: Trace, timeline: Timeline) -> go.Figure:
    """Draw the slices of `timeline` as bars. x is the time since the window's start in one unit, y a row, downwards.

    One trace per category, in the category's colour; a bar carries its name and, for hovering, its duration,
    self time and shapes.
    """
    slices, window = trace.slices, timeline.window
    scale = units.duration_scale(window.end - window.start)
    self_ns = _self_times(trace)
    first_row = np.zeros(len(trace.tracks), dtype=np.int64)
    for band in timeline.bands:
        first_row[band.track] = band.first_row
    row_count = sum(band.depths for band in timeline.bands)
    drawn = theme.figure(**_layout(timeline.bands, row_count, window, scale))
    categories = slices.category[timeline.rows]
    for category_id in np.unique(categories):
        rows = timeline.rows[categories == category_id]
        kind = theme.category(trace.strings[int(category_id)])
        names = [trace.strings[index] for index in slices.name[rows]]
        start = np.maximum(slices.start[rows], window.start)
        end = np.minimum(slices.start[rows] + slices.duration[rows], window.end)
        drawn.add_bar(
            name=kind.word,
            orientation="h",
            base=(start - window.start) / scale.divisor,
            x=(end - start) / scale.divisor,
            y=first_row[slices.track[rows]] + slices.depth[rows],
            width=0.9,
            marker={"color": [theme.slice_colour(kind, name) for name in names], "line": {"width": 0}},
            text=[escape(name) for name in names],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            customdata=[_hover(trace, int(row), int(self_ns[row])) for row in rows],
            hovertemplate="<b>%{text}</b><br>%{customdata}<extra></extra>",
        )
    return drawn


def legend(trace: Trace, timeline: Timeline) -> list[theme.Category]:
    """What kinds of slices are drawn, most frequent first."""
    ids, counts = np.unique(trace.slices.category[timeline.rows], return_counts=True)
    names = [trace.strings[int(index)] for index in ids[np.argsort(-counts, kind="stable")]]
    return list(dict.fromkeys(theme.category(name) for name in names))


def _layout(bands: tuple[Band, ...], row_count: int, window: Window, scale: units.Scale) -> dict[str, object]:
    row_height = 22 if row_count <= 24 else 20
    separators = [
        {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": band.first_row - 0.5, "y1": band.first_row - 0.5}
        for band in bands[1:]
    ]
    length = (window.end - window.start) / scale.divisor
    return {
        "barmode": "overlay",
        "bargap": 0.1,
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": "pan",
        "height": row_count * row_height + 56,
        "margin": {"t": 2},
        "uniformtext": {"mode": "hide", "minsize": 9},
        "shapes": separators,
        "xaxis": {
            "range": [0, length],
            "minallowed": 0,
            "maxallowed": length,
            "title": {"text": f"since the start of {window.label}, {scale.unit}"},
            "zeroline": False,
        },
        "yaxis": {
            "range": [row_count - 0.5, -0.5],
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
            "ticklabelstandoff": 8,
            "tickvals": [band.first_row + (band.depths - 1) / 2 for band in bands],
            "ticktext": [_shortened(band.label) for band in bands],
        },
    }


def track_label(track: Track) -> str:
    """What a page calls a track."""
    name = track.name or f"thread {track.tid}"
    return f"{name} ({track.lane + 1})" if track.lane else name


def _shortened(label: str) -> str:
    return label if len(label) <= 26 else f"{label[:14]}…{label[-11:]}"


def _self_times(trace: Trace) -> Rows:
    own = trace.slices.duration.astype(np.int64, copy=True)
    children = np.flatnonzero(trace.slices.parent >= 0)
    np.subtract.at(own, trace.slices.parent[children], trace.slices.duration[children])
    return own


def _hover(trace: Trace, row: int, self_ns: int) -> str:
    duration = int(trace.slices.duration[row])
    lines = [units.duration(duration)]
    if 0 <= self_ns < duration:
        lines[0] += f", self {units.duration(self_ns)}"
    dims, types = (trace.slice_args.get(key) for key in ("Input Dims", "Input type"))
    if dims is not None and (shapes := dims.at(row)):
        lines.append(shape_text(shapes, types.at(row) if types is not None else None))
    return "<br>".join(lines)


def shape_text(shapes: object, types: object) -> str:
    """Shapes as a recorder writes them, `[[2, 3], [3]]`, and types if any, as `float (2, 3) · float (3)`."""
    if not isinstance(shapes, list):
        return escape(str(shapes))
    words = types if isinstance(types, list) and len(types) == len(shapes) else [""] * len(shapes)
    parts = [
        f"{word} ({', '.join(str(extent) for extent in shape)})".strip() if isinstance(shape, list) else str(shape)
        for shape, word in zip(shapes, words, strict=True)
        if shape != [] or word not in ("", "Scalar")
    ]
    return escape(" · ".join(parts))
