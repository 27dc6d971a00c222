"""What backward slices say of the forward op that caused them."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.profiler import Trace, profile, record_function, stretches
from perflab.profiler.analysis.graph import FORWARD_FLOW
from perflab.runtime import nn

HERE = Path(__file__).name


@pytest.fixture(params=[1 << 14, 5])
def cut_into(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(stretches, "_PIECE", request.param)
    yield request.param


def rows(trace: Trace, name: str) -> list[int]:
    return trace.select(category="autograd", name=name).tolist()


@pytest.mark.usefixtures("cut_into")
def test_a_backward_slice_tells_op_module_annotation_and_line() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
    x = rt.ones((2, 4))
    with profile(record_stacks=True) as prof:
        with record_function("outer"), record_function("forward"):
            out = model(x)
        loss = (out * out).sum()
        with record_function("backward"):
            loss.backward()
    trace = prof.trace
    trace.check()
    (relu,) = rows(trace, "ReluBackward0")
    args = trace.args_of(relu)
    assert (args["Forward op"], args["Module Hierarchy"], args["Annotation"]) == ("relu", "Sequential.1", "forward")
    assert args["Source"].rsplit(":", 1)[0].endswith(HERE)
    (square,) = rows(trace, "MulBackward0")
    found = trace.args_of(square)
    assert found["Forward op"] == "mul"
    assert found.keys() & {"Module Hierarchy", "Annotation"} == set(), "it ran outside of both"
    assert int(found["Source"].rsplit(":", 1)[1]) == int(args["Source"].rsplit(":", 1)[1]) + 1
    (op,) = trace.select(category="cpu_op", name="relu").tolist()
    stack = trace.args_of(op)["Call stack"].split(";")
    assert f"{HERE}({args['Source'].rsplit(':', 1)[1]}): test_a_backward" in next(one for one in stack if HERE in one)
    assert stack.index(next(one for one in stack if "Sequential.forward" in one)) > 0, "the innermost comes first"


def test_arrows_lead_from_the_op_to_its_backward_slice() -> None:
    x = rt.ones((4,)).requires_grad_()
    with profile() as prof:
        x.exp().sum().backward()
    trace = prof.trace
    of_forward = trace.flows.name == trace.string_id(FORWARD_FLOW)
    (node,) = rows(trace, "ExpBackward0")
    (source,) = trace.flows.source[of_forward & (trace.flows.target == node)].tolist()
    assert trace.name_of([source]) == ["exp"]
    assert "Source" not in trace.slice_args and "Call stack" not in trace.slice_args


def test_a_node_that_runs_twice_tells_it_twice() -> None:
    x = rt.ones((4,)).requires_grad_()
    with profile() as prof:
        with record_function("forward"):
            loss = x.exp().sum()
        loss.backward(retain_graph=True)
        loss.backward()
    found = rows(prof.trace, "ExpBackward0")
    assert [prof.trace.args_of(row)["Annotation"] for row in found] == ["forward", "forward"]


def test_a_graph_made_before_the_recording_has_no_cause() -> None:
    x = rt.ones((4,)).requires_grad_()
    loss = x.exp().sum()
    with profile() as prof:
        loss.backward()
    (node,) = rows(prof.trace, "ExpBackward0")
    assert set(prof.trace.args_of(node)) == {"Sequence number"}


def test_the_innermost_annotation_of_the_ops_own_thread_counts() -> None:
    x = rt.ones((4,)).requires_grad_()
    with profile() as prof:
        with record_function("step"):
            with record_function("first"):
                a = x.exp()
            with record_function("second"):
                b = a.tanh()
            loss = b.sum()
        loss.backward()
    told = {}
    for row in prof.trace.select(category="autograd").tolist():
        args = prof.trace.args_of(row)
        if "Forward op" in args:
            told[args["Forward op"]] = args["Annotation"]
    assert told == {"exp": "first", "tanh": "second", "sum": "step"}
    assert np.all(prof.trace.slices.duration >= 0)
