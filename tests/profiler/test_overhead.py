"""What recording costs: measured, stored, and taken off again."""

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.profiler import Trace, TraceBuilder, Track, profile, record_function
from perflab.profiler.analysis.averages import key_averages
from perflab.profiler.analysis.overhead import recording_ns, recording_share
from perflab.profiler.calibration import measured
from perflab.profiler.report.answers import answers
from perflab.profiler.report.sections import sections
from perflab.runtime import _core

MAIN, OTHER = Track(1, 1, "main"), Track(1, 2, "other")
COSTS = {"op": 30.0, "annotation": 20.0, "event": 10.0, "hold": 6.0}


def loop(costs: object = COSTS) -> Trace:
    """A step of 1000 ns: a part with a composite of two ops, a node with an op, all with kernels."""
    builder = TraceBuilder({"recordingCosts": costs})

    def op(name: str, start: int, track: Track = MAIN) -> None:
        builder.slice(name, start, 60, track=track, category="cpu_op")
        builder.slice(f"{name}_native", start + 20, 30, track=track, category="kernel")

    builder.slice("ProfilerStep#0", 0, 1000, track=MAIN, category="user_annotation")
    builder.slice("forward", 10, 400, track=MAIN, category="user_annotation")
    builder.slice("gelu", 20, 300, track=MAIN, category="cpu_op", args={"Composite": True})
    op("erf", 30)
    op("mul", 130)
    builder.slice("ErfBackward0", 500, 200, track=MAIN, category="autograd")
    op("exp", 520)
    op("add", 100, OTHER)
    return builder.build()


def test_what_is_recorded_inside_a_slice_is_in_its_time() -> None:
    trace = loop()
    found = dict(zip(trace.name_of(range(len(trace.slices))), recording_ns(trace).tolist(), strict=True))
    assert found == {
        "ProfilerStep#0": 30 * 3 + 20 * 2 + 10,
        "forward": 30 * 2 + 20,  # the composite is written by Python, as parts are
        "gelu": 30 * 2,
        "ErfBackward0": 30,
        **dict.fromkeys(("erf", "mul", "exp", "add", "erf_native", "mul_native", "exp_native", "add_native"), 0.0),
    }
    assert recording_share(trace) == 0.14


def test_averages_offer_a_corrected_time() -> None:
    rows = {row.name: row for row in key_averages(loop())}
    assert (rows["gelu"].total_ns, rows["gelu"].corrected_ns) == (300, 240)
    assert (rows["erf"].total_ns, rows["erf"].corrected_ns) == (60, 60)
    lines = key_averages(loop()).table().splitlines()
    assert lines[1].split()[-1] == "Corrected"
    (line,) = (line for line in lines if line.startswith("gelu"))
    assert line.split()[-1] == "0.240us"
    (step,) = (row for row in key_averages(loop(), "step") if row.name == "ProfilerStep#0")
    assert step.recording_ns == 60, "of the ops that lie in no other"


@pytest.mark.parametrize("costs", [None, {}, "cheap", {"op": "30"}])
def test_traces_that_do_not_say_it_are_not_corrected(costs: object) -> None:
    trace = loop(costs)
    assert not recording_ns(trace).any() and recording_share(trace) == 0
    assert "Corrected" not in key_averages(trace).table()
    assert not recording_ns(TraceBuilder().build()).any()


def test_the_report_tells_the_share() -> None:
    overview = sections(answers(loop()))[0]
    assert "Recording took 14.0% of the steps' time." in overview.sentences
    assert not any("Recording" in sentence for sentence in sections(answers(loop(None)))[0].sentences)


def test_costs_are_measured_and_stored() -> None:
    costs = measured()
    assert set(costs) == {"op", "shapes", "annotation", "event", "hold"}
    assert min(costs["op"], costs["event"], costs["hold"]) > 0 <= costs["annotation"]
    assert not _core.is_recording() and not _core.recorder_drain()
    x = rt.ones((4,))
    with profile() as first:
        with profile() as second, record_function("part"):
            x + x
    assert first.trace.metadata["recordingCosts"] == second.trace.metadata["recordingCosts"]
    assert set(first.trace.metadata["recordingCosts"]) == set(costs)
    part = first.trace.select(name="part")
    assert np.all(recording_ns(first.trace)[part] == first.trace.metadata["recordingCosts"]["op"])


def test_nothing_is_measured_while_something_records() -> None:
    with profile(), pytest.raises(ValueError, match="while nothing is recorded"):
        measured()
