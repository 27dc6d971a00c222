"""Axes whose numbers are chosen here."""

import pytest

from perflab.dashboards.axes import log_axis, log_ticks


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (3.5, 165, [5, 10, 20, 50, 100]),
        (97, 264, [100, 150, 200, 250]),
        (91, 110, [95, 100, 105, 110]),
        (0.02, 0.5, [0.02, 0.05, 0.1, 0.2, 0.5]),
        (0.008, 300, [0.01, 0.1, 1, 10, 100]),
        (1, 100, [1, 2, 5, 10, 20, 50, 100]),
    ],
)
def test_numbers_are_round_and_few(low: float, high: float, ticks: list[float]) -> None:
    assert log_ticks(low, high) == pytest.approx(ticks)


def test_an_axis_reaches_from_end_to_end() -> None:
    axis = log_axis(0.1, 1_000)
    assert axis["type"] == "log" and axis["range"] == pytest.approx([-1, 3])
