"""The cards and figures of a trace's pages: steps, durations of an op, the roofline."""

from collections.abc import Callable

import numpy as np
import pytest

from perflab.dashboards import cards, operators, stepfigures
from perflab.dashboards.study import study
from perflab.profiler.analysis.advice import Advice
from perflab.profiler.analysis.averages import Averages, OpAverage
from perflab.profiler.analysis.ops import ops
from perflab.profiler.analysis.outliers import outlier_steps
from perflab.profiler.analysis.parts import step_parts
from perflab.profiler.analysis.steps import Step
from perflab.profiler.builder import TraceBuilder
from perflab.profiler.ceilings import Ceilings
from perflab.profiler.trace import Trace, Track

MakeTrace = Callable[..., Trace]
MAIN = Track(1, 1, "main")


def steps_of(*durations: int) -> list[Step]:
    return [Step(number, 10**6 * number, duration) for number, duration in enumerate(durations)]


def test_the_card_of_the_step_says_its_spread() -> None:
    stat = cards.step_stat(10**9, steps_of(1_000, 2_000, 3_000, 4_000, 50_000))
    assert (stat.value, stat.note) == ("3.00 µs", "5 steps, middle half 2.00 µs to 4.00 µs, longest 50.0 µs")
    assert cards.step_stat(5_000, []).note == "no steps were marked"
    assert cards.step_stat(5_000, steps_of(1_234)).value == "1.23 µs"


def test_bars_are_the_steps_or_the_longest_of_several() -> None:
    few = cards.bars(steps_of(100, 50, 200, 100))
    assert [(bar.height, bar.is_slow) for bar in few] == [(0.5, False), (0.25, False), (1.0, True), (0.5, False)]
    many = cards.bars(steps_of(*range(1, 2 * cards.BARS)))
    assert len(many) == cards.BARS
    assert many[0].label == "step 1: 2 ns"
    assert cards.bars(steps_of(5)) == []


def test_parts_of_the_card_add_up_to_the_step(training_trace: MakeTrace) -> None:
    found = study(trace := training_trace())
    made = cards.cards(found)
    assert sum(part.share for part in made.parts) == pytest.approx(1)
    mean = np.mean([step.duration for step in found.steps])
    assert sum(part.mean_ns for part in made.parts) == pytest.approx(mean)
    assert made.memory is not None and trace is found.trace


def test_findings_lead_to_what_they_speak_of() -> None:
    advice = [
        Advice("a", "it takes 5 us", "x", 1e3, step=4, name="aten::mm"),
        Advice("b", "", "x", 1e6, name="a b"),
        Advice("c", "", "x", 0.0, saving_bytes=2048.0, name="mul"),
        Advice("d", "", "x", 1.0),
    ]
    found = cards.findings(7, advice)
    assert [[(link.text, link.address) for link in one.links] for one in found] == [
        [("aten::mm in step 4", "/traces/7?step=4&find=aten%3A%3Amm")],
        [("a b", "/traces/7?find=a+b")],
        [("memory", "/traces/7/memory#leaks")],
        [("timeline", "/traces/7")],
    ]
    assert [one.saving for one in found] == ["1.00 µs", "1.00 ms", "2.00 KiB", "1 ns"]
    assert found[0].evidence == "it takes 5 µs"


def test_the_histogram_counts_each_call_once() -> None:
    duration = np.array([100, 100, 150, 1_000, 90_000], dtype=np.int64)
    bars = operators.histogram(duration).data[0]
    assert sum(bars.y) == 5
    assert bars.y[0] == 2 and bars.y[-1] == 1
    alone = operators.histogram(np.array([70, 70], dtype=np.int64)).data[0]
    assert sum(alone.y) == 2


def test_the_chosen_op_has_the_numbers_of_its_calls() -> None:
    builder = TraceBuilder()
    for number, duration in enumerate((100, 300, 200)):
        builder.slice("mm", 1_000 * number, duration, track=MAIN, category="cpu_op")
    builder.slice("add", 5_000, 10, track=MAIN, category="cpu_op")
    trace = builder.build()
    chosen = operators.chosen(trace, ops(trace), "op", "mm")
    assert chosen is not None
    assert [(stat.label, stat.value) for stat in chosen.stats] == [
        ("calls", "3"),
        ("median", "200 ns"),
        ("from 5 to 95 %", "110 ns to 290 ns"),
        ("longest", "300 ns"),
    ]
    assert (chosen.names, chosen.longest) == (["mm"], 1)
    assert operators.chosen(trace, ops(trace), "op", "mul") is None


def average(name: str, flops: int, moved: int, ns: int) -> OpAverage:
    return OpAverage(name, 1, ns, ns, 0, 0, 0, flops=flops, moved_bytes=moved, costed_ns=ns)


def test_only_numbers_that_are_known_have_a_column() -> None:
    table = operators.rows(Averages((average("mm", 4_000, 1_000, 2_000), average("view", 0, 0, 10))))
    assert operators.columns(table) == {"flops_per_s", "bytes_per_s"}
    assert operators.columns([]) == set()
    assert [operators.rate(each) for each in (0.0, 12.34e9, 999.9e9, 44_379.6e9)] == [
        "\N{EN DASH}",
        "12.3",
        "999.9",
        "44,380",
    ]


def test_points_of_the_roofline_are_rates_over_intensity() -> None:
    averages = Averages(
        (average("mm", 4_000_000, 1_000, 2_000), average("copy", 0, 500, 10), average("add", 100, 400, 50))
    )
    assert len(operators.roofline_figure(averages, None).data) == 1  # type: ignore[union-attr]
    roof = Ceilings(fingerprint="f", machine="ada", flops_per_s=4e12, bytes_per_s=2e10)
    figure = operators.roofline_figure(averages, roof)
    assert figure is not None
    line, points = figure.data
    assert list(zip(points.x, points.y, strict=True)) == [(4_000, 2_000), (0.25, 2)]
    assert [name for name, *_ in points.customdata] == ["mm", "add"]
    assert list(points.ids) == ["?by=op%2Bshape&op=mm", "?by=op%2Bshape&op=add"]
    # memory-bound up to the ridge at 200 FLOPs a byte, flat behind it
    rates = dict(zip(line.x, line.y, strict=True))
    assert figure.layout.xaxis.range == pytest.approx((np.log10(0.125), np.log10(8_000)))
    assert figure.layout.yaxis.range == pytest.approx((np.log10(1), np.log10(8_000)))
    assert rates[200.0] == 4_000 and line.y[0] == pytest.approx(line.x[0] * 20) and line.y[-1] == 4_000
    assert operators.roofline_figure(Averages((average("copy", 0, 500, 10),)), roof) is None
    assert "no roof" in operators.roofline_note(averages, None)
    assert "no roof" not in operators.roofline_note(averages, roof)


def test_bars_of_steps_add_up_and_outliers_are_marked() -> None:
    builder = TraceBuilder()
    start = 0
    for number in range(12):
        length = 9_000 if number == 7 else 1_000 + number
        builder.slice(f"ProfilerStep#{number}", start, length, track=MAIN, category="user_annotation")
        builder.slice("mm", start, length - 100, track=MAIN, category="cpu_op")
        start += length + 50
    trace = builder.build()
    found, outliers = step_parts(trace), outlier_steps(trace)
    figure = stepfigures.over_time(found, outliers, "/traces/7")
    *bars, marks = figure.data
    assert [sum(each) * 1e3 for each in zip(*(bar.y for bar in bars), strict=True)] == pytest.approx(
        [step.duration for step in found]
    )
    assert (list(marks.x), list(marks.y)) == (["step 7"], [9.0])
    assert bars[0].ids[7] == "/traces/7?step=7"
    (row,) = stepfigures.outlier_rows(outliers)
    assert (row.number, row.duration_ns) == (7, 9_000)
    assert row.parts[0][0] == "forward" and row.ops[0][0] == "mm"
    assert sum(ns for _, ns in row.parts) == pytest.approx(9_000 - row.usual_ns)
    spread = stepfigures.boxes(found)
    assert [box.name for box in spread.data] == ["step", "forward", "outside of ops"]
    assert sorted(spread.data[0].x)[-1] == 9.0


def test_many_steps_are_drawn_as_the_longest_of_their_neighbours() -> None:
    builder = TraceBuilder()
    for number in range(stepfigures.BAR_LIMIT * 3):
        length = 500 if number == 301 else 100
        builder.slice(f"ProfilerStep#{number}", 1_000 * number, length, track=MAIN, category="user_annotation")
    figure = stepfigures.over_time(step_parts(builder.build()), [], "/traces/7")
    (bars,) = figure.data
    assert len(bars.x) == stepfigures.BAR_LIMIT and "step 301" in bars.x
