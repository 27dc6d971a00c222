"""Sparklines: where their points are, and that hundreds stay small."""

import re

from perflab.dashboards.project_views import SeriesRow
from perflab.dashboards.sparkline import COLUMNS, HEIGHT, PAD, WIDTH, sparkline
from perflab.dashboards.views import SeriesChange


def row(places: list[int], values: list[float], change: int | None = None) -> SeriesRow:
    changes = [] if change is None else [SeriesChange(place=change, ratio=1.5, worse=True)]
    return SeriesRow(
        benchmark="ops.py::test_add",
        params="",
        unit="s",
        direction="lower",
        machine="a machine",
        address="/series",
        places=places,
        values=values,
        changes=changes,
        state="steady",
        ratio=None,
        note="",
    )


def points(path: str) -> list[tuple[int, int]]:
    """The points of a path, from its relative steps."""
    begin, _, steps = path.partition("l")
    x, y = (int(number) for number in begin[1:].removesuffix("h0").split())
    found = [(x, y)]
    numbers = [int(number) for number in re.findall(r"-?\d+", steps)]
    for across, down in zip(numbers[::2], numbers[1::2], strict=True):
        x, y = x + across, y + down
        found.append((x, y))
    return found


def test_a_step_up_begins_anew() -> None:
    drawn = sparkline(row([0, 1, 2, 3, 4], [1.0, 1.0, 1.0, 2.0, 2.0], change=3), 5)
    top, bottom = PAD, HEIGHT - PAD
    width = WIDTH - 2 * PAD
    low = round(PAD + (bottom - PAD) * (1 - 0.06 / 1.06))  # the room below the median, 1.0
    assert points(drawn.before) == [(round(PAD + width * at / 4), low) for at in (0, 1, 2)]
    assert points(drawn.after) == [(PAD + width * 2 // 4, low), (118, top), (WIDTH - PAD, top)]


def test_places_without_a_result_stay_empty() -> None:
    drawn = sparkline(row([0, 8], [1.0, 1.0]), 17)
    assert [x for x, _ in points(drawn.before)] == [PAD, WIDTH // 2]
    assert drawn.after == ""


def test_noise_of_a_percent_is_no_cliff() -> None:
    heights = [y for _, y in points(sparkline(row([0, 1, 2], [1.0, 1.01, 0.99]), 3).before)]
    assert max(heights) - min(heights) <= 0.2 * HEIGHT


def test_one_commit_is_a_point() -> None:
    assert sparkline(row([0], [1.0]), 1).before == f"M{PAD} {HEIGHT // 2}h0"


def test_a_long_history_is_a_short_path() -> None:
    values = [1.0 + (at * 7919 % 100) / 100 for at in range(2000)]
    drawn = sparkline(row(list(range(2000)), values), 2000)
    assert len(points(drawn.before)) <= COLUMNS + 1
    assert len(drawn.before) < 450
