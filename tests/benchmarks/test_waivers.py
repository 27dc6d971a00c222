"""Files of waivers that are none; what good ones do is in tests/server/test_gate_waivers.py."""

from datetime import date
from pathlib import Path

import pytest

from perflab.benchmarks.errors import BenchmarkFormatError
from perflab.benchmarks.waivers import Removed, Renamed, Waiver, Waivers, read

GOOD = """
[[waiver]]
benchmark = "step"
metric = "s"
ceiling = 1.1
expires = 2026-12-31
reason = "#12"
"""


def test_a_file_holds_what_is_slower_gone_and_renamed(tmp_path: Path) -> None:
    path = tmp_path / "waivers.toml"
    path.write_text(
        GOOD + '[[removed]]\nbenchmark = "gone"\nreason = "#13"\n[[renamed]]\nbenchmark = "new"\nwas = "old"\n'
    )
    assert read(path) == Waivers(
        [Waiver("step", "s", 1.1, date(2026, 12, 31), "#12")], [Removed("gone", "#13")], [Renamed("new", "old")]
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x", "Expected '=' after a key"),
        ("a = 1", "it holds more than [[waiver]], [[removed]] and [[renamed]]; give a table for each benchmark"),
        (
            '[[waiver]]\nbenchmark = "a"',
            "a waiver has benchmark, metric, ceiling, expires, reason, no more and no less",
        ),
        (GOOD.replace("1.1", "0.9"), "the ceiling for step is 0.9; give a ratio above 1"),
        (GOOD.replace("1.1", "nan"), "the ceiling for step is nan; give a ratio above 1"),
        (GOOD.replace("2026-12-31", '"soon"'), "expires is 'soon'; look at the example in docs/gate.md"),
        (GOOD.replace("#12", " "), "the waiver for step has no reason; say why it is allowed"),
        ('[[removed]]\nbenchmark = "a"', "a removed has benchmark, reason, no more and no less"),
        ('[[removed]]\nbenchmark = "a"\nreason = ""', "that a is removed has no reason; say why it is gone"),
        ('[[renamed]]\nbenchmark = "a"\nwas = 1', "was is 1; look at the example in docs/gate.md"),
    ],
)
def test_a_bad_file_says_what_is_wrong(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "waivers.toml"
    path.write_text(text)
    with pytest.raises(BenchmarkFormatError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: {sentence}")
