"""Numbers as people read them: durations, sizes, counts, ratios."""

import re
from collections.abc import Callable
from dataclasses import dataclass

Words = Callable[[float], str]

MINUS = "\N{MINUS SIGN}"
TIMES = "\N{MULTIPLICATION SIGN}"
NONE = "\N{EN DASH}"

_DURATIONS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_SIZES = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))


@dataclass(frozen=True)
class Scale:
    """A unit for an axis: a value divided by `divisor` is in `unit`."""

    divisor: float
    unit: str


def duration_scale(largest_ns: float) -> Scale:
    """The unit in which an axis that reaches `largest_ns` nanoseconds is easiest to read."""
    return _scale(largest_ns, _DURATIONS)


def size_scale(largest_bytes: float) -> Scale:
    """The unit in which an axis that reaches `largest_bytes` bytes is easiest to read."""
    return _scale(largest_bytes, _SIZES)


def _scale(largest: float, steps: tuple[tuple[float, str], ...]) -> Scale:
    for divisor, unit in steps:
        # 999.5 would round to "1,000" of the smaller unit.
        if abs(largest) >= divisor * 0.9995:
            return Scale(divisor, unit)
    return Scale(*steps[-1])


def _three_digits(value: float) -> str:
    magnitude = abs(value)
    if magnitude >= 999.5:
        return f"{value:,.0f}"
    if magnitude >= 99.95:
        return f"{value:.0f}"
    if magnitude >= 9.995:
        return f"{value:.1f}"
    return f"{value:.2f}"


def duration(ns: float | None) -> str:
    """Nanoseconds with three digits: `1.23 ms`; an en dash for None."""
    if ns is None:
        return NONE
    scale = duration_scale(ns)
    if scale.divisor == 1:
        return _minus(f"{ns:.0f} ns" if abs(ns) >= 10 or float(ns).is_integer() else f"{ns:.1f} ns")
    return _minus(f"{_three_digits(ns / scale.divisor)} {scale.unit}")


def typeset(text: str) -> str:
    """A sentence of a report, which is plain ASCII, as pages write it: `5 -> 4 us (-1 us)` is `5 → 4 µs (−1 µs)`."""
    text = re.sub(r"(?<=\d) us\b", " µs", text).replace("->", "→")
    return re.sub(r"(?<![\w.])-(?=\d)", MINUS, text)


def size(count: float | None) -> str:
    """Bytes with three digits: `12.1 MiB`; an en dash for None."""
    if count is None:
        return NONE
    scale = size_scale(count)
    if scale.divisor == 1:
        return _minus(f"{count:.0f} B")
    return _minus(f"{_three_digits(count / scale.divisor)} {scale.unit}")


def whole(count: float | None) -> str:
    """A count with thousands separated: `12,345`; an en dash for None."""
    return NONE if count is None else _minus(f"{count:,.0f}")


def share(fraction: float | None) -> str:
    """A fraction of a whole: `12.3 %`; an en dash for None."""
    if fraction is None:
        return NONE
    percent = fraction * 100
    return f"{percent:.0f} %" if percent >= 99.95 else f"{percent:.1f} %"


def ratio(value: float | None) -> str:
    """Head over base: `1.07×`; an en dash for None."""
    if value is None:
        return NONE
    digits = 0 if value >= 99.5 else 1 if value >= 9.95 else 2 if value >= 0.1 else 3
    return f"{value:.{digits}f}{TIMES}"


def change(base: float | None, head: float | None) -> str:
    """How far head is from base: `+7.1 %`; an en dash where base is missing or zero."""
    if not base or head is None:
        return NONE
    percent = (head / base - 1) * 100
    text = f"{percent:+,.0f} %" if abs(percent) >= 99.95 else f"{percent:+.1f} %"
    return _minus(text)


def signed(text: str) -> str:
    """Put a plus before a formatted number that is above zero."""
    return text if text.startswith((MINUS, NONE, "0 ")) or text == "0" else f"+{text}"


def _minus(text: str) -> str:
    return text.replace("-", MINUS)
