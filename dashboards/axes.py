"""Axes whose numbers are chosen here: plotly crowds a short logarithmic axis with them."""

import math

DECADES = 100.0  # an axis over more than this names powers of ten alone


def log_axis(low: float, high: float) -> dict[str, object]:
    """A logarithmic axis from `low` to `high`, both above 0, with round numbers at readable distances."""
    shown = [math.log10(low), math.log10(high)]
    return {"type": "log", "range": shown, "tickvals": log_ticks(low, high), "tickformat": ",~g"}


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers in [low, high]: powers of ten over many decades, with twice and five times of them over one, else
    equal steps."""
    if high < 10 * low:
        step = _round_up((high - low) / 5)
        return [number * step for number in range(math.ceil(low / step), math.floor(high / step) + 1)]
    times = (1,) if high > DECADES * low else (1, 2, 5)
    powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    every = [each * 10.0**power for power in powers for each in times]
    return [tick for tick in every if low <= tick <= high]


def _round_up(least: float) -> float:
    """1, 2 or 5 times a power of ten, the next above `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(each * power for each in (1, 2, 5, 10) if each * power >= least)
