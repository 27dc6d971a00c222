"""Replays side by side: what was in use, what each configuration reserved for it, and the share that stood empty."""

from collections.abc import Sequence

import plotly.graph_objects as go

from perflab.profiler.replay import RECORDED, Replay

from . import theme, units
from .memory import thinned

_LOWER = 0.36  # of the height, for the lower part


def figure(replays: Sequence[Replay]) -> go.Figure:
    """Draw replays of one history: bytes above, the unused share below, over the history's rows. The first has rows.

    The rows are drawn in equal distances, as a recording may stand still for long. Long curves are thinned to the
    lowest and highest point of each stretch; each peak is always kept.
    """
    size = units.size_scale(float(max(one.peak_reserved for one in replays)))
    hover = f"%{{y}} {size.unit}"
    drawn = theme.figure(
        height=460,
        hovermode="x unified",
        margin={"t": 30},
        xaxis={"anchor": "y2", "title": {"text": "allocations and frees, in their order"}, "hoverformat": ",d"},
        yaxis={
            "domain": [_LOWER + 0.06, 1],
            "title": {"text": size.unit},
            "rangemode": "tozero",
            "hoverformat": ",.2f",
        },
        yaxis2={
            "domain": [0, _LOWER],
            "title": {"text": "unused"},
            "rangemode": "tozero",
            "tickformat": ".0%",
            "hoverformat": ".1%",
        },
    )
    allocated = replays[0].allocated
    kept = thinned(allocated, int(allocated.argmax()))
    drawn.add_scatter(
        name="allocated",
        x=kept,
        y=allocated[kept] / size.divisor,
        mode="lines",
        line={"shape": "hv", "width": 1, "color": theme.NEUTRAL},
        fill="tozeroy",
        fillcolor="rgba(135,147,160,0.16)",
        hovertemplate=hover,
    )
    begun = ((place, one) for place, one in enumerate(replays) if len(one.time))
    # what was recorded is dotted, and above the others
    for place, one in sorted(begun, key=lambda pair: pair[1].conf == RECORDED):
        is_recorded = one.conf == RECORDED
        colour = theme.NEUTRAL if is_recorded else theme.SEQUENCE[place % len(theme.SEQUENCE)]
        shared = {
            "name": one.conf,
            "legendgroup": one.conf,
            "mode": "lines",
            "line": {"shape": "hv", "width": 1.5, "color": colour, "dash": "dot" if is_recorded else "solid"},
        }
        kept = thinned(one.reserved, int(one.reserved.argmax()))
        drawn.add_scatter(x=kept, y=one.reserved[kept] / size.divisor, hovertemplate=hover, **shared)
        unused = one.fragmentation
        kept = thinned(unused, int(unused.argmax()))
        drawn.add_scatter(x=kept, y=unused[kept], yaxis="y2", showlegend=False, hovertemplate="%{y}", **shared)
    return drawn
