"""The block map: segments as bars, and in them their blocks: in use, lost to rounding, awaited, free."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from perflab.profiler.memory_snapshot import Block, Segment, State

from . import theme, units

ROW_LIMIT = 24  # segments of a pool
WIDTH = 960
_LABEL, _BAR, _ROW, _LINE, _MARGIN = 132, 14, 20, 22, 14
_NARROW = 1.5  # pixels: neighbours that are narrower, and of one state, are drawn as one
_INK, _MUTED, _PANEL, _FREE, _EDGE = (
    f"var(--{name}, {getattr(theme.LIGHT, name)})" for name in ("ink", "muted", "panel", "grid", "line")
)
_USED, _AWAITING = theme.category("cpu_op"), theme.category("kernel")
ROUNDING = "#b9cfea"
_WORDS: dict[State, str] = {"allocated": "in use", "awaiting": "freed, awaited by another stream", "free": "free"}
_LEGEND = (("in use", _USED.colour), ("rounding", ROUNDING), (_WORDS["awaiting"], _AWAITING.colour), ("free", _FREE))


def svg(segments: Sequence[Segment]) -> str:
    """The map as an SVG: a panel with a scale of its own for each pool, in it ROW_LIMIT segments and a line that sums
    up the others. Segments that are partly used come first, those with most free memory before others.

    The colours are those of the page that it stands on, and those of the light one where it stands alone.
    """
    return story([("", segments)])


def story(moments: Sequence[tuple[str, Sequence[Segment]]]) -> str:
    """The map at several moments, one below the other, each under its sentence."""
    parts, y = [_legend(_MARGIN)], _MARGIN + _LINE
    for sentence, segments in moments:
        if sentence:
            parts.append(_text(_MARGIN, y + 15, sentence, _INK, bold=True))
            y += _LINE
        for pool in ("small", "large"):
            own = sorted(
                (segment for segment in segments if segment.pool == pool),
                key=lambda one: (one.used in (0, one.bytes), one.used - one.bytes, -one.bytes, one.address),
            )
            if own:
                drawn, y = _panel(pool, own, y)
                parts += drawn
    height = y + _MARGIN
    label = "; ".join(sentence or summary(segments) for sentence, segments in moments)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        f' role="img" aria-label="{escape(label)}" font-size="12" font-family="{escape(theme.SANS)}">'
        f'<rect width="{WIDTH}" height="{height}" rx="6" fill="{_PANEL}"/>{"".join(parts)}</svg>\n'
    )


def summary(segments: Sequence[Segment]) -> str:
    """What is reserved and in use, in one line."""
    reserved, used = sum(one.bytes for one in segments), sum(one.used for one in segments)
    count = f"{units.whole(len(segments))} segment{'' if len(segments) == 1 else 's'}"
    share = units.share(used / reserved if reserved else 0)
    return f"{count}, {units.size(reserved)} reserved, {units.size(used)} in use ({share})"


def fragments(segments: Sequence[Segment]) -> str:
    """How much of the segments is free, and how large the largest free piece is, in one line."""
    free = [block.bytes for segment in segments for block in segment.blocks if block.state == "free"]
    if not free:
        return "nothing is free between the blocks"
    whole = sum(segment.bytes for segment in segments)
    pieces = f"{units.whole(len(free))} pieces" if len(free) > 1 else "1 piece"
    part = f"{units.size(sum(free))} ({units.share(sum(free) / whole)})"
    return f"{part} of where blocks were is free, in {pieces}; the largest is {units.size(max(free))}"


def _legend(y: int) -> str:
    x, parts = _LABEL, []
    for word, colour in _LEGEND:
        parts.append(f'<rect x="{x}" y="{y}" width="10" height="10" rx="2" fill="{colour}" stroke="{_EDGE}"/>')
        parts.append(_text(x + 15, y + 9, word, _MUTED))
        x += 40 + 6 * len(word)
    return "".join(parts)


def _panel(pool: str, segments: Sequence[Segment], y: int) -> tuple[list[str], int]:
    """The bars of a pool from `y` on, and where they end."""
    parts = [_text(_MARGIN, y + 15, f"{pool} blocks", _INK), _text(_LABEL, y + 15, summary(segments), _INK)]
    y += _LINE
    shown = segments[:ROW_LIMIT]
    streams = len({segment.stream for segment in segments}) > 1
    scale = (WIDTH - _LABEL - _MARGIN) / max(segment.bytes for segment in shown)
    for segment in shown:
        label = units.size(segment.bytes) + (f", stream {segment.stream}" if streams else "")
        parts.append(_text(_MARGIN, y + 11, label, _MUTED))
        parts += _bar(segment, scale, y)
        y += _ROW
    if len(segments) > ROW_LIMIT:
        parts.append(_text(_LABEL, y + 13, f"and {summary(segments[ROW_LIMIT:])}", _MUTED))
        y += _LINE
    return parts, y + 6


def _bar(segment: Segment, scale: float, y: int) -> Iterator[str]:
    for run in _runs(segment.blocks, scale):
        x = _LABEL + (run[0].address - segment.address) * scale
        size, asked = sum(block.bytes for block in run), sum(block.asked for block in run)
        width = size * scale
        what = f"{len(run)} blocks" if len(run) > 1 else run[0].op or "block"
        title = f"<title>{escape(what)}\n{units.size(size)} {_WORDS[run[0].state]}{_asked(size, asked)}</title>"
        yield f"<g>{title}{_rect(x, y, width, ROUNDING if asked else _FREE, edge=True)}"
        if asked:
            kind = _USED if run[0].state == "allocated" else _AWAITING
            yield _rect(x, y, width * asked / size, theme.slice_colour(kind, run[0].op))
        yield "</g>"


def _runs(blocks: Sequence[Block], scale: float) -> Iterator[list[Block]]:
    """The blocks; narrow neighbours of one state together."""
    for (_, is_narrow), group in groupby(blocks, lambda one: (one.state, one.bytes * scale < _NARROW)):
        run = list(group)
        yield from [run] if is_narrow else ([block] for block in run)


def _asked(size: int, asked: int) -> str:
    return f", {units.size(asked)} asked for" if asked not in (0, size) else ""


def _rect(x: float, y: int, width: float, fill: str, *, edge: bool = False) -> str:
    line = f' stroke="{_PANEL}" stroke-width="0.6"' if edge else ""
    return f'<rect x="{x:.2f}" y="{y}" width="{max(width, 0.4):.2f}" height="{_BAR}" fill="{fill}"{line}/>'


def _text(x: int, y: int, text: str, fill: str, *, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x}" y="{y}" fill="{fill}"{weight}>{escape(text)}</text>'
