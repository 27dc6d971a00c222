import pytest

from perflab.dashboards import units


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (3.25, "3.2 ns"),
        (999, "999 ns"),
        (999.6, "1.00 µs"),
        (1_234, "1.23 µs"),
        (12_345_678, "12.3 ms"),
        (999_600, "1.00 ms"),
        (5e9, "5.00 s"),
        (-1_234_567, "−1.23 ms"),
        (None, "–"),
    ],
)
def test_duration(ns: float | None, text: str) -> None:
    assert units.duration(ns) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (512, "512 B"), (12_688_000, "12.1 MiB"), (-(2**31), "−2.00 GiB"), (None, "–")],
)
def test_size(count: float | None, text: str) -> None:
    assert units.size(count) == text


def test_ratios_and_shares() -> None:
    assert units.ratio(1.0712) == "1.07×"
    assert units.ratio(12.34) == "12.3×"
    assert units.ratio(0.0123) == "0.012×"
    assert units.share(0.1234) == "12.3 %"
    assert units.share(1) == "100 %"
    assert units.change(100, 107.1) == "+7.1 %"
    assert units.change(100, 50) == "−50.0 %"
    assert units.change(0, 50) == "–"
    assert units.whole(12_345) == "12,345"


def test_typeset_turns_ascii_into_signs() -> None:
    said = units.typeset("add-1: 5 -> 4 us a step (-1.5 us), -2 KiB; 1-2 of it in step 2026-01-05, -0.1")
    assert said == "add-1: 5 → 4 µs a step (−1.5 µs), −2 KiB; 1-2 of it in step 2026-01-05, −0.1"


def test_signed_marks_what_is_above_zero() -> None:
    assert units.signed("1.23 ms") == "+1.23 ms"
    assert units.signed("−1.23 ms") == "−1.23 ms"
    assert units.signed("0 ns") == "0 ns"
    assert units.signed("–") == "–"
