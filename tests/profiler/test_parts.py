"""Where the time of a step goes."""

import pytest

from perflab.profiler import Trace, TraceBuilder, Track
from perflab.profiler.analysis.accounts import account
from perflab.profiler.analysis.parts import PARTS, StepParts, part_ns, step_parts, step_thread

MAIN, ENGINE, GIL, DEVICE = Track(1, 1, "main"), Track(1, 2, "pt_autograd_0"), Track(1, 10_000_001), Track(0, 7)


def training(builder: TraceBuilder, number: int, start: int, *, engine: Track = MAIN, data: int = 100) -> None:
    """A step of 2000 ns + data - 100: every part is in it, with ops, gaps and waits that overlap."""

    def at(name: str, begin: int, duration: int, track: Track = MAIN, category: str = "cpu_op") -> None:
        builder.slice(name, start + begin, duration, track=track, category=category)

    more = data - 100
    at(f"ProfilerStep#{number}", 0, 2000 + more, category="user_annotation")
    at("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, data, category="user_annotation")
    at("aten::stack", 10, 50)  # in the data wait: part of it
    start += more
    at("aten::linear", 150, 300)
    at("aten::addmm", 200, 200)
    at("aten::relu", 500, 100)
    at("gc: generation 2", 520, 30, category="gc")
    at("AddmmBackward0", 700, 200, engine, "autograd")
    at("aten::mm", 710, 100, engine)
    at("ReluBackward0", 950, 150, engine, "autograd")  # the 50 ns between nodes are the pass's
    builder.slice("GIL wait: hook", start + 1000, 40, track=GIL, category="gil", args={"Thread": 1})
    at("Optimizer.step#SGD.step", 1200, 300, category="user_annotation")
    at("aten::add_", 1250, 100)
    at("cudaDeviceSynchronize", 1600, 250, category="cuda_runtime")


@pytest.fixture(params=[MAIN, ENGINE], ids=["backward on the same thread", "backward on a thread of its own"])
def trace(request: pytest.FixtureRequest) -> Trace:
    builder = TraceBuilder()
    training(builder, 3, 1000, engine=request.param)
    training(builder, 4, 3000, engine=request.param, data=700)
    built = builder.build()
    built.check()
    return built


def test_every_part(trace: Trace) -> None:
    rest = (250, 300, 360, 370, 550)  # sync, optimizer, backward, forward, idle
    assert step_parts(trace) == [
        StepParts(3, 1000, 2000, 30, 40, 100, *rest),
        StepParts(4, 3000, 2600, 30, 40, 700, *rest),
    ]
    for step in step_parts(trace):
        assert sum(part_ns(step, part) for part in PARTS) == step.duration


def test_an_account_adds_up(trace: Trace) -> None:
    owned = account(trace)
    assert owned.total_ns == 4600
    assert owned.waits == {"gc": 60, "gil_wait": 80, "data_wait": 800, "sync": 500}
    names = trace.name_of(owned.ops.row.tolist())
    by_name = {
        name: sum(ns for own, ns in zip(names, owned.self_ns.tolist(), strict=True) if own == name) for name in names
    }
    assert by_name == {
        "aten::stack": 0,  # its time is the data wait's
        "aten::linear": 200,
        "aten::addmm": 400,
        "aten::relu": 140,
        "aten::mm": 200,
        "aten::add_": 200,
    }
    assert sum(owned.waits.values()) + sum(by_name.values()) + owned.outside_ns == owned.total_ns


def test_plain_words_name_parts_too() -> None:
    builder = TraceBuilder()
    builder.slice("ProfilerStep#0", 0, 1000, track=MAIN, category="user_annotation")
    for name, start in (("data", 0), ("forward", 200), ("backward", 400), ("optimizer", 600), ("checkpoint", 800)):
        builder.slice(name, start, 150, track=MAIN, category="user_annotation")
    (step,) = step_parts(builder.build())
    assert (step.data_wait_ns, step.forward_ns, step.backward_ns, step.optimizer_ns) == (150, 150, 150, 150)
    assert step.idle_ns == 400


def test_what_happens_on_a_device_is_not_the_hosts_time() -> None:
    builder = TraceBuilder()
    builder.slice("ProfilerStep#0", 0, 100, track=MAIN, category="user_annotation")
    builder.slice("ProfilerStep#0", 50, 500, track=DEVICE, category="gpu_user_annotation")
    builder.slice("Optimizer.step#SGD.step", 60, 400, track=DEVICE, category="gpu_user_annotation")
    (step,) = step_parts(builder.build())
    assert (step.duration, step.optimizer_ns, step.idle_ns) == (100, 0, 100)


def test_a_pass_does_not_reach_over_steps_nor_over_forward_ops() -> None:
    builder = TraceBuilder()
    for number, start in enumerate((0, 100)):
        builder.slice(f"ProfilerStep#{number}", start, 100, track=MAIN, category="user_annotation")
        builder.slice("AddBackward0", start + 20, 10, track=MAIN, category="autograd")
        builder.slice("MulBackward0", start + 40, 10, track=MAIN, category="autograd")
    builder.slice("aten::mul", 160, 5, track=MAIN, category="cpu_op")
    builder.slice("MulBackward0", 180, 10, track=MAIN, category="autograd")
    assert [step.backward_ns for step in step_parts(builder.build())] == [30, 40]


def test_steps_are_those_of_one_thread() -> None:
    builder = TraceBuilder()
    builder.slice("ProfilerStep#0", 0, 100, track=ENGINE, category="user_annotation")
    for number in range(2):
        builder.slice(f"ProfilerStep#{number}", number * 100, 90, track=MAIN, category="user_annotation")
    trace = builder.build()
    assert [(step.number, step.duration) for step in step_parts(trace)] == [(0, 90), (1, 90)]
    assert trace.tracks[step_thread(trace)] == MAIN


@pytest.mark.parametrize("device", ["cuda", "hip", "sim"])
def test_a_trace_without_steps_is_one_account(device: str) -> None:
    builder = TraceBuilder()
    builder.slice("aten::add", 10, 20, track=MAIN, category="cpu_op")
    builder.slice("aten::mul", 50, 10, track=MAIN, category="cpu_op")
    builder.slice(f"{device}StreamSynchronize", 65, 5, track=MAIN, category="cuda_runtime")
    trace = builder.build()
    owned = account(trace)
    assert (owned.total_ns, owned.self_ns.tolist(), owned.waits["sync"], owned.outside_ns) == (60, [20, 10], 5, 25)
    assert step_parts(trace) == []
    assert account(TraceBuilder().build()).total_ns == 0
