"""Every answer on traces of all shapes, sense or none: nothing fails, and what adds up adds up."""

import random
from itertools import pairwise
from typing import Any

import pytest

from perflab.profiler import Trace, TraceBuilder, Track
from perflab.profiler.analysis.accounts import account
from perflab.profiler.analysis.averages import key_averages
from perflab.profiler.analysis.critical import critical_path
from perflab.profiler.analysis.groups import GroupBy
from perflab.profiler.ceilings import Ceilings
from perflab.profiler.report.answers import answers
from perflab.profiler.report.markdown import markdown
from perflab.profiler.report.sections import sections

NAMES = (
    "aten::mm", "aten::add_", "MmBackward0", "autograd::engine::evaluate_function: X", "cudaLaunchKernel", "gemm",
    "cudaDeviceSynchronize", "cudaMemcpyAsync", "ncclAllReduce", "data", "forward", "backward", "optimizer",
    "Optimizer.step#SGD.step", "nn.Module: A_0", "GIL wait", "GIL wait: x", "GIL held", "f.py(3): g",
    "torch/_tensor.py(1): backward", *(f"ProfilerStep#{number}" for number in range(6)),
)  # fmt: skip
CATEGORIES = (
    "cpu_op", "kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "user_annotation", "gpu_user_annotation",
    "autograd", "gil", "gc", "python_function", "",
)  # fmt: skip
TRACKS = (
    Track(1, 1, "main"), Track(1, 2, "engine"), Track(1, 10_000_001, "main GIL"), Track(1, 10_000_002, "engine GIL"),
    Track(0, 7, "stream 7"), Track(0, 8, "stream 8"), Track("x", "y"),
)  # fmt: skip
ODD_ARGS: dict[str, tuple[Any, ...]] = {
    "Module Hierarchy": ("A", "A.b", 3),
    "Input Dims": ([[2, 3], [3, 4]], [], [[]], ["x"], [[[1, 2]], []], None, 5),
    "Input type": (["float", "float"], [], ["Scalar"], None, "q"),
    "Concrete Inputs": (["", "[1]"], [], None, ["[1", "[2]"]),
    "Thread": (1, 2, 3, "a"),
    "Composite": (True, 1),
}
COSTS: tuple[Any, ...] = (None, [], [["aten::mm", [[2, 3], [3, 4]], ["float", "float"], 48, 9]], [[1]], "x")


def any_trace(seed: int) -> Trace:
    """Slices, arrows and changes of memory at random; arrows go back in time too, and totals do not add up."""
    chance = random.Random(seed)
    builder = TraceBuilder({"costs": chance.choice(COSTS)})
    handles = []
    for _ in range(chance.randrange(80)):
        args = {key: chance.choice(values) for key, values in ODD_ARGS.items() if chance.random() < 0.25}
        times = chance.randrange(1000), chance.randrange(300)
        name, category, track = (chance.choice(names) for names in (NAMES, CATEGORIES, TRACKS))  # type: ignore[arg-type]
        handles.append(builder.slice(name, *times, track=track, category=category, args=args))  # type: ignore[arg-type]
    for _ in range(chance.randrange(20) if handles else 0):
        builder.flow(chance.choice(["ac2g", "fwdbwd", "gil"]), chance.choice(handles), chance.choice(handles))
    for _ in range(chance.randrange(20)):
        args = {"Addr": chance.randrange(5), "Bytes": chance.randrange(-50, 50)}
        for key, most in (("Total Allocated", 1000), ("Device Id", 2), ("Category", 4)):
            if chance.random() < 0.5:
                args[key] = chance.randrange(most)
        builder.instant("[memory]", chance.randrange(1000), track=chance.choice(TRACKS), args=args)
    return builder.build()


@pytest.mark.parametrize("seed", range(40))
def test_every_answer(seed: int) -> None:
    trace, base = any_trace(seed), any_trace(seed + 1000)
    trace.check()
    found = answers(trace, Ceilings("", "", 1e9, 1e9), base)
    assert markdown(sections(found), "any").startswith("# any\n")
    assert all(step.idle_ns >= 0 for step in found.steps)
    assert found.diff is not None
    assert sum(line.ns for line in found.diff.bill) == pytest.approx(found.diff.step_ns, abs=1e-6)
    top = sum(node.total_ns for node in found.diff.tree.nodes if node.parent < 0)
    assert top + sum(line.ns for line in found.diff.beside) == pytest.approx(found.diff.step_ns, abs=1e-6)
    owned = account(trace)
    assert sum(owned.waits.values()) + int(owned.self_ns.sum()) + owned.outside_ns == owned.total_ns
    assert owned.self_ns.min(initial=0) >= 0
    path = critical_path(trace)
    assert sum(owner.ns for owner in path.owners) == sum(piece.duration for piece in path.pieces) == path.total_ns
    assert all(one.start + one.duration == two.start for one, two in pairwise(path.pieces))
    kinds: tuple[GroupBy, ...] = ("op", "op+shape", "module", "stack", "step")
    assert len({sum(row.count for row in key_averages(trace, kind)) for kind in kinds}) == 1


def test_a_wait_of_no_length_does_not_hold_the_path_up() -> None:
    builder = TraceBuilder()
    builder.slice("aten::mm", 0, 100, track=TRACKS[0], category="cpu_op")
    for name in ("cudaDeviceSynchronize", "cudaDeviceSynchronize"):
        builder.slice(name, 50, 0, track=TRACKS[0], category="cuda_runtime")
    assert critical_path(builder.build()).total_ns == 100
