"""Numbers in words: "1.9 ms", "48.3 MiB", "+310 %", "12.1 -> 48.3 MiB"."""

import math
from collections.abc import Sequence

Scale = Sequence[tuple[float, str]]

NANOSECONDS: Scale = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1, "ns"))
SECONDS: Scale = ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
BYTES: Scale = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))


def scale_of(unit: str) -> Scale:
    """How values of a benchmark's unit are written: seconds and bytes by size, all others as they are."""
    return {"s": SECONDS, "ns": NANOSECONDS, "bytes": BYTES, "B": BYTES}.get(unit, ((1, unit),))


def quantity(value: float, scale: Scale, signed: bool = False) -> str:
    """The value with three significant digits in the largest unit it fills: "1.9 ms"; signed: "+1.9 ms"."""
    size, unit = _fitting(abs(value), scale)
    return f"{_digits(value / size, signed)} {unit}"


def change(base: float, head: float, scale: Scale) -> str:
    """Both in the unit of the larger: "12.1 -> 48.3 MiB"."""
    size, unit = _fitting(max(abs(base), abs(head)), scale)
    return f"{_digits(base / size)} -> {_digits(head / size)} {unit}"


def percent(ratio: float) -> str:
    """A ratio as a signed change: 1.071 is "+7.1 %", 4.1 is "+310 %"."""
    points = (ratio - 1) * 100
    return f"{points:+.1f} %" if abs(points) < 99.95 else f"{_digits(points, signed=True)} %"


def plain(number: float) -> str:
    """A count: whole where it is whole, else with three significant digits."""
    return _digits(number)


def _fitting(value: float, scale: Scale) -> tuple[float, str]:
    # 999.6 us would be written as 1000 us: it fills a millisecond
    return next(((size, unit) for size, unit in scale if value >= size * 0.9995), scale[-1])


def _digits(number: float, signed: bool = False) -> str:
    """Three significant digits, never an exponent below 10^15."""
    if number == 0 or not math.isfinite(number):
        return f"{number:+g}" if signed and number else f"{abs(number):g}"
    places = max(0, 2 - math.floor(math.log10(abs(number)) + 1e-9))
    text = f"{number:+,.{places}f}" if signed else f"{number:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
