"""profile() around real training steps."""

import gc
import os
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.profiler import Trace, chrome, profile, record_function, schedule
from perflab.profiler.analysis.averages import key_averages
from perflab.profiler.analysis.gil import gil_waits
from perflab.profiler.analysis.graph import autograd_graph
from perflab.profiler.analysis.memory import memory_curve
from perflab.profiler.analysis.parts import step_parts
from perflab.profiler.analysis.steps import steps
from perflab.profiler.analysis.summary import summarize
from perflab.runtime import _core, nn, optim
from perflab.runtime.data import DataLoader, TensorDataset


class Double(rt.Function):
    @staticmethod
    def forward(ctx: Any, a: rt.Tensor) -> rt.Tensor:
        return a * 2.0

    @staticmethod
    def backward(ctx: Any, gradient: rt.Tensor) -> rt.Tensor:
        return gradient * 2.0


@pytest.fixture(scope="module")
def prof() -> profile:
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = rt.randn(16, 32), rt.randint(0, 10, (16,))
    with profile(schedule=schedule(wait=1, warmup=1, active=3)) as running:
        for _ in range(5):
            with record_function("forward"):
                loss = nn.functional.cross_entropy(Double.apply(model(x)), y)
            optimizer.zero_grad()
            with record_function("backward"):
                loss.backward()
            optimizer.step()
            running.step()
    return running


@pytest.fixture(scope="module")
def trace(prof: profile) -> Trace:
    prof.trace.check()
    return prof.trace


def test_steps_hold_the_ops_and_ops_their_kernels(trace: Trace) -> None:
    assert [step.number for step in steps(trace)] == [2, 3, 4]
    names = trace.name_of(range(len(trace.slices)))
    parents = [names[row] if row >= 0 else "" for row in trace.slices.parent.tolist()]
    kernels = trace.select(category="kernel").tolist()
    assert len(kernels) > 20
    assert all(names[row].startswith(parents[row]) for row in kernels)
    assert parents[names.index("softmax_nll")] == "cross_entropy"
    assert parents[names.index("cross_entropy")] == "forward"
    assert parents[names.index("forward")] == "ProfilerStep#2"


def test_ops_tell_their_inputs_and_module(trace: Trace) -> None:
    args = trace.args_of(int(trace.select(category="cpu_op", name="matmul")[0]))
    assert args["Input Dims"] == [[16, 32], [32, 64]]
    assert args["Input type"] == ["float", "float"]
    assert args["Module Hierarchy"] == "Sequential.0"
    assert args["Sequence number"] > 0


def test_every_backward_node_is_tied_to_its_op(trace: Trace) -> None:
    names = trace.name_of(range(len(trace.slices)))
    tied = trace.flows.name == trace.strings.index("fwdbwd")
    source, target = trace.flows.source[tied], trace.flows.target[tied]
    found = {(names[op], names[node]) for op, node in zip(source.tolist(), target.tolist(), strict=True)}
    assert found >= {("matmul", "MatmulBackward0"), ("softmax_nll", "SoftmaxNllBackward0"), ("relu", "ReluBackward0")}
    assert "DoubleBackward" in names
    assert all(trace.slices.start[source] < trace.slices.start[target])


def test_an_op_of_a_backward_program_begins_where_the_one_before_it_ended(trace: Trace) -> None:
    slices = trace.slices
    ops, nodes = trace.select(category="cpu_op"), trace.select(name="MatmulBackward0")
    assert len(nodes) == 6
    for node in nodes:
        inside = ops[slices.parent[ops] == node]
        assert len(inside) > 1
        assert slices.start[inside[0]] >= slices.start[node]
        assert slices.start[inside[1:]].tolist() == (slices.start + slices.duration)[inside[:-1]].tolist()


def test_the_graph_of_a_step_is_that_of_grad_fn() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    with profile() as prof:
        loss = Double.apply(model(rt.ones((2, 4)))).sum()
        expected = _edges_behind(loss)
        loss.backward()
    graph = autograd_graph(prof.trace, *prof.trace.span(), limit=20)
    names = [str(list(map(tuple, node.shapes))) if node.leaf else node.name for node in graph.nodes]
    assert sorted((names[front], names[behind]) for front, behind in graph.edges) == expected
    assert len(expected) == graph.count - 1 == 12
    assert {node.module for node in graph.nodes if node.name == "ReluBackward0"} == {"Sequential.1"}


def _edges_behind(loss: rt.Tensor) -> list[tuple[str, str]]:
    found, stack = [], [loss.grad_fn]
    while stack:
        node = stack.pop()
        assert node is not None
        for behind, _ in node.next_functions:
            leaf = getattr(behind, "variable", None)
            if leaf is not None:
                found.append((node.name(), str([leaf.shape])))
            elif behind is not None:
                found.append((node.name(), behind.name()))
                stack.append(behind)
    return sorted(found)


def test_the_table_and_the_summary_agree(prof: profile, trace: Trace) -> None:
    table = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=-1)
    assert "matmul" in table
    summary = summarize(trace)
    assert summary.steps == 3
    assert summary.ops == sum(row.count for row in prof.key_averages())


def test_the_file_holds_the_same_events(prof: profile, trace: Trace, tmp_path: Path) -> None:
    prof.export_chrome_trace(tmp_path / "trace.json.gz")
    again = chrome.read(tmp_path / "trace.json.gz")
    again.check()
    for column in ("start", "duration", "depth", "parent"):
        assert np.array_equal(getattr(again.slices, column), getattr(trace.slices, column))
    assert again.name_of(range(len(again.slices))) == trace.name_of(range(len(trace.slices)))
    assert np.array_equal(again.flows.target, trace.flows.target)
    assert again.metadata == trace.metadata


def test_memory_totals_are_the_allocators() -> None:
    kept = []
    with profile() as prof:
        before = rt.memory.live_stats()["allocated_bytes"]
        kept.append(rt.zeros((100, 100)) + 1.0)
        _gone = kept[0] * kept[0]
        del _gone
        kept.append(kept[0].reshape(10, 1000))
        after = rt.memory.live_stats()["allocated_bytes"]
    curve = memory_curve(prof.trace)
    assert (curve.allocated[0], curve.allocated[-1]) == (before, after)
    assert curve.peak_bytes >= before + 80_000
    assert after - before == 40_000


def test_ops_of_other_threads_have_tracks_of_their_own() -> None:
    x = rt.ones((4,))
    thread = threading.Thread(target=lambda: x + x, name="worker")
    with profile() as prof:
        x * x
        thread.start()
        thread.join()
    of_ops = prof.trace.slices.track[prof.trace.select(category="cpu_op")]
    assert {prof.trace.tracks[number].name for number in of_ops.tolist()} == {threading.current_thread().name, "worker"}


def test_the_engine_tells_when_it_took_the_gil() -> None:
    """A pass that proves long gives the GIL away and takes it for a backward written in Python."""
    x = rt.ones((600, 600))
    x.requires_grad_()
    y = Double.apply(x @ x)
    for _ in range(6):
        y = y @ x
    with profile() as prof:
        y.sum().backward()
    waits = gil_waits(prof.trace)
    assert all(wait.wait_ns >= 0 and wait.hold_ns >= 0 for wait in waits)
    assert threading.get_native_id() in {prof.trace.tracks[wait.track].tid for wait in waits}


def test_loading_and_the_optimizer_have_pytorchs_names() -> None:
    model = nn.Linear(4, 2)
    optimizer = optim.AdamW(model.parameters())
    loader = DataLoader(TensorDataset(rt.randn(6, 4)), batch_size=2)
    with profile() as running:
        for (x,) in loader:
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
            running.step()
    names = Counter(running.trace.name_of(running.trace.select(category="user_annotation").tolist()))
    assert names["Optimizer.step#AdamW.step"] == names["Optimizer.zero_grad#AdamW.zero_grad"] == 3
    assert names["enumerate(DataLoader)#DataLoader.__next__"] == 4, "the last one finds no more"
    for step in step_parts(running.trace):
        assert min(step.data_wait_ns, step.optimizer_ns, step.forward_ns, step.backward_ns) > 0
    assert key_averages(running.trace, "module").rows


def test_costs_are_those_that_ops_declare() -> None:
    a, b = rt.randn(8, 32), rt.randn(32, 16)
    image, weight = rt.randn(2, 3, 8, 8), rt.randn(6, 3, 3, 3)
    with profile() as running:
        for _ in range(3):
            product = a @ b
        product + product
        a.transpose(0, 1)
        nn.functional.conv2d(image, weight)
    found = {row.name: row for row in running.key_averages()}
    assert found["matmul"].flops == 3 * 2 * 8 * 16 * 32
    assert found["matmul"].moved_bytes == 3 * 4 * (8 * 32 + 32 * 16 + 8 * 16)
    assert (found["add"].flops, found["add"].moved_bytes) == (128, 3 * 512)
    assert (found["transpose"].flops, found["transpose"].moved_bytes) == (0, 0)
    assert found["conv2d"].flops == 2 * (2 * 6 * 6 * 6) * 27
    assert found["matmul"].flops_per_s == found["matmul"].flops / found["matmul"].kernel_ns * 1e9


def test_profiles_in_several_threads_and_in_a_backward() -> None:
    class Profiled(rt.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            return a * 2.0

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            with profile() as inside:
                result = gradient * 2.0
            found.append(len(inside.trace.select(category="cpu_op")))
            return result

    found: list[int] = []
    x = rt.ones((4,)).requires_grad_()
    with profile() as prof:
        threads = [threading.Thread(target=lambda: Profiled.apply(x).sum().backward()) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 4 and min(found) >= 1
    assert prof.key_averages().rows
    assert len(gil_waits(prof.trace)) > 4
    prof.trace.check()


def test_a_forked_child_profiles_anew() -> None:
    x = rt.ones((4,))
    with profile() as prof:
        x + x
        child = os.fork()
        if not child:
            with profile() as own:
                x * x
            prof.stop()
            names = own.trace.name_of(own.trace.select(category="cpu_op"))
            os._exit(0 if names == ["mul"] and own.trace.metadata["gil"] == "exact" else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        x - x
    assert prof.trace.name_of(prof.trace.select(category="cpu_op")) == ["add", "mul", "sub"]


def test_a_profile_does_nothing_in_a_forked_child() -> None:
    saved: list[int] = []
    callbacks = len(gc.callbacks)
    with profile(on_trace_ready=lambda _: saved.append(os.getpid())) as prof:
        child = os.fork()
        if not child:
            prof.step()
            prof.stop()
            os._exit(0 if not saved and not _core.recorder_is_started() and len(gc.callbacks) == callbacks else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert saved == [os.getpid()]
