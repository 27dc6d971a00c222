"""Lifetimes: a bar for each of the largest blocks around the peak, from when to when it was there."""

import plotly.graph_objects as go

from perflab.profiler.analysis.lifetimes import Lifetime, Lifetimes
from perflab.profiler.analysis.memory import NO_MODULE, NO_OP

from . import theme, units

_ROW = 15  # pixels
_LETTER = 0.0075  # of the figure's width


def figure(found: Lifetimes, origin_ns: int) -> go.Figure:
    """Draw the blocks, the largest above, and a line at the peak; times since `origin_ns`.

    A bar that reaches the edge goes on beyond it.
    """
    scale = units.duration_scale(float(found.end - origin_ns))

    def at(time: int) -> float:
        return (time - origin_ns) / scale.divisor

    first, last = at(found.start), at(found.end)
    room = (last - first) or 1.0
    drawn = theme.figure(
        height=72 + _ROW * len(found.blocks),
        barmode="overlay",
        margin={"t": 24},
        xaxis={"range": [first, last], "title": {"text": f"since the start of the trace, {scale.unit}"}},
        yaxis={
            "range": [len(found.blocks) - 0.4, -0.6],
            "showticklabels": False,
            "fixedrange": True,
            "showgrid": False,
        },
        shapes=[
            {
                "type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": at(found.peak), "x1": at(found.peak),
                "line": {"color": theme.WORSE, "width": 1, "dash": "dot"},
            }
        ],
    )  # fmt: skip
    for category in dict.fromkeys(block.category for block in found.blocks):
        rows = [row for row, block in enumerate(found.blocks) if block.category == category]
        blocks = [found.blocks[row] for row in rows]
        begins = [first if one.start is None else max(at(one.start), first) for one in blocks]
        ends = [last if one.end is None else min(at(one.end), last) for one in blocks]
        texts = [_label(one) for one in blocks]
        drawn.add_bar(
            name=category,
            orientation="h",
            y=rows,
            base=begins,
            x=[end - begin for begin, end in zip(begins, ends, strict=True)],
            width=0.84,
            marker={"color": theme.MEMORY[category]},
            text=texts,
            textposition=[
                _place(text, (begin - first) / room, (end - first) / room)
                for text, begin, end in zip(texts, begins, ends, strict=True)
            ],
            textangle=0,
            insidetextanchor="start",
            constraintext="none",
            textfont={"size": 10},
            customdata=[_said(one, origin_ns) for one in blocks],
            hovertemplate="%{customdata}<extra></extra>",
        )
    return drawn


def _label(one: Lifetime) -> str:
    """How large a block is, and whose: its op's, else its module's."""
    known = [name for name in (one.op, one.module) if name not in (NO_OP, NO_MODULE)]
    return " ".join([units.size(one.bytes), *known[:1]])


def _place(text: str, begin: float, end: float) -> str:
    """Where the label of a bar stands that is drawn from `begin` to `end`, as shares of the figure: in it or behind."""
    wide = len(text) * _LETTER
    return "inside" if wide <= end - begin else "outside" if wide <= 1 - end else "none"


def note(found: Lifetimes) -> str:
    """What is drawn, and what is not."""
    drawn = f"the largest {len(found.blocks)} blocks of the step with the peak, which is the dotted line"
    if not found.left_out:
        return drawn
    return f"{drawn}; {units.whole(found.left_out)} smaller ones, {units.size(found.left_out_bytes)}, are left out"


def _said(one: Lifetime, origin_ns: int) -> str:
    start = "before the trace" if one.start is None else units.duration(one.start - origin_ns)
    end = "the end of the trace" if one.end is None else units.duration(one.end - origin_ns)
    return f"<b>{units.size(one.bytes)}</b> {one.category}<br>{one.op}, {one.module}<br>from {start} to {end}"
