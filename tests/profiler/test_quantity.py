"""Numbers in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflab.profiler.quantity import BYTES, NANOSECONDS, SECONDS, change, percent, plain, quantity, scale_of


@pytest.mark.parametrize(
    "seconds, words",
    [
        (0, "0 ns"),
        (44e-9, "44 ns"),
        (1.8e-6, "1.8 us"),
        (0.9994e-3, "999 us"),
        (0.9996e-3, "1 ms"),
        (61.25, "61.2 s"),
        (4321.0, "4,321 s"),
    ],
)
def test_times(seconds: float, words: str) -> None:
    assert quantity(seconds, SECONDS) == words


def test_signs_and_other_units() -> None:
    assert quantity(1.9e6, NANOSECONDS, signed=True) == "+1.9 ms"
    assert quantity(-3e5, NANOSECONDS, signed=True) == "-300 us"
    assert quantity(3, scale_of("ops/s")) == "3 ops/s"
    assert quantity(2048, scale_of("bytes")) == "2 KiB"


def test_a_change_has_one_unit() -> None:
    assert change(12.1 * 2**20, 48.3 * 2**20, BYTES) == "12.1 -> 48.3 MiB"
    assert change(0, 512, BYTES) == "0 -> 512 B"
    assert change(900, 2.5e6, NANOSECONDS) == "0.0009 -> 2.5 ms"


def test_percent_and_counts() -> None:
    assert [percent(ratio) for ratio in (1.071, 4.1, 0.5, 1.0, 1.9996, 12.345)] == [
        "+7.1 %",
        "+310 %",
        "-50.0 %",
        "+0.0 %",
        "+100 %",
        "+1,134 %",
    ]
    assert [plain(count) for count in (2.0, 0.2, 1234.0, 12.345)] == ["2", "0.2", "1,234", "12.3"]


@given(st.floats(1e-12, 1e12))
def test_three_digits_are_right(value: float) -> None:
    assert float(plain(value).replace(",", "")) == pytest.approx(value, rel=5.1e-3)
