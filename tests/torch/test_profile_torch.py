"""profile(torch=True): what torch's own recorder says, on one clock with the GIL, memory, garbage and steps."""

import gc
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perflab.profiler import Trace, chrome, profile, record_function, schedule
from perflab.profiler.analysis.averages import key_averages
from perflab.profiler.analysis.diff import diff
from perflab.profiler.analysis.gil import HELD, THREAD
from perflab.profiler.analysis.groups import modules
from perflab.profiler.analysis.memory import memory_curve, memory_peak
from perflab.profiler.analysis.parts import PARTS, part_ns, step_parts
from perflab.profiler.analysis.steps import steps
from perflab.profiler.report.answers import answers
from perflab.profiler.report.sections import sections
from perflab.profiler.torch_clock import DRIFT, UNCERTAINTY
from perflab.profiler.torch_track import ALLOCATED

pytestmark = pytest.mark.torch


@pytest.fixture
def torch() -> Iterator[Any]:
    found = pytest.importorskip("torch")
    yield found
    assert not found.autograd._profiler_enabled(), "torch's recorder was left on"


@pytest.fixture
def step(torch: Any) -> Callable[[], None]:
    """A step of training a small MLP."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))

    def run() -> None:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    run()
    return run


def counts(trace: Trace, category: str = "cpu_op") -> Counter[str]:
    return Counter(trace.name_of(trace.select(category)))


def named(trace: Trace, name: str) -> list[tuple[int, int]]:
    """Begin and end of the slices of a name."""
    rows = trace.select(name=name)
    return list(zip(trace.slices.start[rows].tolist(), trace.slices.end[rows].tolist(), strict=True))


def own_holds(trace: Trace) -> list[tuple[int, int]]:
    """When this thread held the GIL."""
    assert trace.metadata["gil"] == "exact"
    thread = trace.slice_args[THREAD].dense(len(trace.slices), missing=-1)
    rows = [row for row in trace.select("gil") if trace.strings[trace.slices.name[row]].startswith(HELD)]
    mine = [row for row in rows if thread[row] == threading.get_native_id()]
    return [(int(trace.slices.start[row]), int(trace.slices.end[row])) for row in mine]


def place(holds: list[tuple[int, int]], begin: int, end: int, slack: int) -> str:
    """Whether the GIL was held all the time from begin to end, or never."""
    if any(start - slack <= begin and end <= stop + slack for start, stop in holds):
        return "held"
    return "free" if all(stop - slack <= begin or end <= start + slack for start, stop in holds) else "both"


def test_ops_and_the_gil_lie_on_one_clock(torch: Any, step: Callable[[], None]) -> None:
    with profile(torch=True) as prof:
        for _ in range(20):
            step()
            torch.tensor([[1.0, 2.0], [3.0, 4.0]])
            prof.step()
    trace = prof.trace
    trace.check()
    slack = trace.metadata[UNCERTAINTY]
    assert 0 < slack < 5_000 and abs(trace.metadata[DRIFT]) < 1e-3
    holds = own_holds(trace)
    # torch.tensor keeps the GIL, modules' functions give it up and take it back when their ops are done
    held, free = ("aten::lift_fresh", "aten::detach_"), ("aten::linear", "aten::relu", "aten::cross_entropy_loss")
    for expected, names in (("held", held), ("free", free)):
        for name in names:
            found = named(trace, name)
            assert len(found) == (40 if name == "aten::linear" else 20)
            assert {place(holds, *times, slack) for times in found} == {expected}, name


def test_ops_lie_inside_what_python_names_around_them_and_around_what_it_names_inside(torch: Any) -> None:
    class Doubled(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            with record_function("in backward"):
                return gradient * 2

    x = torch.ones(3, requires_grad=True)
    with profile(torch=True) as prof:
        for _ in range(10):
            with record_function("forward"):
                y = Doubled.apply(x).sum()
            y.backward()
    trace = prof.trace
    rows = trace.select(name="in backward")
    assert len(rows) == 10
    assert set(trace.name_of(trace.slices.parent[rows])) == {"DoubledBackward"}
    inner = [row for row in trace.select(name="aten::mul") if trace.slices.parent[row] in rows]
    assert len(inner) == 10
    outer = trace.select(name="Doubled")
    assert set(trace.name_of(trace.slices.parent[outer])) == {"forward"}
    arrows = trace.flows.name == trace.string_id("fwdbwd")
    ends = Counter(
        zip(trace.name_of(trace.flows.source[arrows]), trace.name_of(trace.flows.target[arrows]), strict=True)
    )
    assert ends == {("Doubled", "DoubledBackward"): 10, ("aten::sum", "SumBackward0"): 10}


def test_what_torch_records_is_there_and_nothing_of_itself(torch: Any, step: Callable[[], None]) -> None:
    with profile(torch=True) as prof:
        for _ in range(5):
            step()
            gc.collect()
            prof.step()
    trace = prof.trace
    ops = counts(trace)
    assert (ops["aten::linear"], ops["aten::addmm"], ops["aten::mm"], ops["aten::relu"]) == (10, 10, 15, 5)
    assert ops["perflab clock"] == 0
    assert counts(trace, "user_annotation")["Optimizer.step#SGD.step"] == 5
    assert counts(trace, "gc")["gc generation 2"] >= 5
    assert {track.pid for track in trace.tracks} == {trace.tracks[0].pid}
    assert not [key for key in trace.metadata if key in ("traceName", "schemaVersion")]
    shapes = {row.name: row.count for row in prof.key_averages("op+shape")}
    assert shapes["aten::linear [32, 64] [64, 64] [64]"] == shapes["aten::linear [32, 64] [10, 64] [10]"] == 5
    assert trace.counter("RSS")[1].max() > 1e6


def test_steps_and_their_parts(step: Callable[[], None]) -> None:
    with profile(torch=True) as prof:
        for _ in range(5):
            with record_function("data"):
                sum(range(1000))
            step()
            prof.step()
    assert [found.number for found in steps(prof.trace)] == [0, 1, 2, 3, 4]
    for found in step_parts(prof.trace):
        assert found.forward_ns > 0 and found.backward_ns > 0 and found.optimizer_ns > 0 and found.data_wait_ns > 0
        assert sum(part_ns(found, part) for part in PARTS) == found.duration


def test_ops_belong_to_the_modules_that_called_them(torch: Any) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)])
            self.head = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(4, 1))

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x = layer(x)
            return self.head(x)

    net = Net()
    with profile(torch=True, with_modules=True) as prof:
        with profile(torch=True, with_modules=True) as inner:
            for _ in range(3):
                net(torch.ones(2, 4)).sum().backward()
        with pytest.raises(RuntimeError, match="mat1 and mat2"):
            net(torch.ones(2, 5))
        net(torch.ones(2, 4))
    trace = inner.trace
    found = {row.name for row in inner.key_averages("module")}
    layers = {"Net.layers.0", "Net.layers.1", "Net.head.0", "Net.head.1"}
    assert found == layers | {"(none)"}  # of Net and its head themselves there are no ops
    calls = Counter(trace.name_of(trace.select("user_annotation")))
    assert calls["nn.Module: Net"] == calls["nn.Module: layers.1"] == calls["nn.Module: head"] == 3
    of_slice, names = modules(trace)
    products = trace.select(name="aten::addmm")
    assert Counter(names[of_slice[row]] for row in products) == dict.fromkeys(layers - {"Net.head.0"}, 3)
    passes = trace.select(name="AddmmBackward0")  # belong to the modules whose gradients they compute
    assert Counter(names[of_slice[row]] for row in passes) == dict.fromkeys(layers - {"Net.head.0"}, 3)
    assert {row.name for row in prof.key_averages("module")} == found  # also behind the exception
    with profile(torch=True) as without:
        net(torch.ones(2, 4))
    assert not counts(without.trace, "user_annotation")
    with pytest.raises(ValueError, match="with_modules is of torch's modules: say torch=True, too"):
        profile(with_modules=True)


def test_memory_is_that_of_torch(torch: Any) -> None:
    with profile(torch=True) as prof:
        kept = [torch.ones(1000, 1000)]
        kept.append(kept[0] + 1)
        kept.clear()
        torch.ones(10)
    trace = prof.trace
    rows = {row.name: row for row in prof.key_averages()}
    assert (rows["aten::empty"].allocated_bytes, rows["aten::add"].allocated_bytes) == (4_000_040, 4_000_000)
    peak = memory_peak(trace)
    assert peak is not None and peak.by_op["aten::add"] == 4_000_000
    assert memory_curve(trace).peak_bytes == peak.bytes >= 8_000_000
    assert trace.counter(ALLOCATED)[1].max() == peak.bytes


def test_without_shapes_and_memory(torch: Any, step: Callable[[], None]) -> None:
    with profile(torch=True, record_shapes=False, profile_memory=False) as prof:
        step()
    assert "Input Dims" not in prof.trace.slice_args and memory_peak(prof.trace) is None
    assert counts(prof.trace)["aten::linear"] == 2


def test_each_window_of_a_schedule_has_its_own_ops(torch: Any) -> None:
    windows: list[tuple[list[int], int]] = []

    def ready(prof: profile) -> None:
        windows.append(([found.number for found in steps(prof.trace)], counts(prof.trace)["aten::add"]))

    with profile(torch=True, schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=ready) as prof:
        for number in range(10):
            for _ in range(number):
                torch.ones(2) + 1
            prof.step()
    assert windows == [([2, 3], 2 + 3), ([6, 7], 6 + 7)]


def test_a_window_that_nothing_follows_keeps_its_trace(torch: Any) -> None:
    with profile(torch=True, schedule=schedule(wait=0, warmup=0, active=1)) as prof:
        for _ in range(3):
            torch.ones(2) + 1
            prof.step()
    assert counts(prof.trace)["aten::add"] == 1


def test_profiles_inside_each_other_see_their_own_parts(torch: Any) -> None:
    def relu(times: int) -> None:
        for _ in range(times):
            torch.relu(torch.ones(2))

    with profile(torch=True) as outer:
        relu(1)
        with profile(torch=True) as inner:
            relu(2)
            with profile(torch=True) as innermost:
                relu(4)
            relu(8)
        with profile() as other:
            relu(16)
        relu(32)
    found = [counts(prof.trace)["aten::relu"] for prof in (outer, inner, innermost, other)]
    assert found == [63, 14, 4, 0]
    outer.trace.check()
    begins = [start for start, _ in named(outer.trace, "aten::relu")]
    assert begins == sorted(begins)


def test_an_exception_ends_it(torch: Any) -> None:
    with pytest.raises(KeyError, match="why"), profile(torch=True) as prof:
        torch.relu(torch.ones(2))
        raise KeyError("why")
    assert counts(prof.trace)["aten::relu"] == 1
    assert not torch.autograd._profiler_enabled()


def test_torch_profiler_inside_has_the_rest(torch: Any) -> None:
    with pytest.warns(RuntimeWarning, match="the program started torch.profiler"), profile(torch=True) as prof:
        torch.relu(torch.ones(2))
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as theirs:
            torch.tanh(torch.ones(2))
        torch.sin(torch.ones(2))
    ops = counts(prof.trace)
    assert (ops["aten::relu"], ops["aten::tanh"], ops["aten::sin"]) == (1, 0, 0)
    assert prof.trace.metadata["torchTrouble"].startswith("the program started torch.profiler")
    assert [event.name for event in theirs.events()].count("aten::tanh") == 1
    with profile(torch=True) as again:
        torch.relu(torch.ones(2))
    assert counts(again.trace)["aten::relu"] == 1 and "torchTrouble" not in again.trace.metadata


def test_torch_profiler_around_has_all(torch: Any) -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as theirs:
        with pytest.warns(RuntimeWarning, match="torch.profiler records on this thread already"):
            with profile(torch=True) as prof:
                torch.relu(torch.ones(2))
    assert counts(prof.trace)["aten::relu"] == 0
    assert [event.name for event in theirs.events()].count("aten::relu") == 1


def on_thread(run: Callable[[], object]) -> None:
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def test_a_profile_that_ends_on_another_thread(torch: Any) -> None:
    prof = profile(torch=True)
    prof.start()
    torch.relu(torch.ones(2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        on_thread(prof.stop)
    assert ["another thread than it began on" in str(one.message) for one in caught] == [True]
    assert counts(prof.trace)["aten::relu"] == 0
    with profile(torch=True) as again:  # begins with ending what could not be ended there
        torch.tanh(torch.ones(2))
    assert (counts(again.trace)["aten::relu"], counts(again.trace)["aten::tanh"]) == (0, 1)


def test_a_profile_of_another_thread_has_no_part_in_it(torch: Any) -> None:
    found: list[Trace] = []

    def other() -> None:
        with profile(torch=True) as prof:
            torch.tanh(torch.ones(2))
        found.append(prof.trace)

    with profile(torch=True) as mine:
        torch.relu(torch.ones(2))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            on_thread(other)
    assert ["a profile of another thread" in str(one.message) for one in caught] == [True]
    assert counts(found[0])["aten::tanh"] == 0
    assert counts(mine.trace)["aten::relu"] == 1


def test_it_is_written_and_read_and_answers(torch: Any, step: Callable[[], None], tmp_path: Path) -> None:
    traces = []
    for extra in (0, 3):
        with profile(torch=True) as prof:
            for _ in range(10):
                step()
                for _ in range(extra):
                    torch.relu(torch.ones(300, 300))
                prof.step()
        prof.export_chrome_trace(tmp_path / "trace.json.gz")
        traces.append(chrome.read(tmp_path / "trace.json.gz"))
        assert counts(traces[-1]) == counts(prof.trace)
        assert np.array_equal(np.sort(traces[-1].slices.start), np.sort(prof.trace.slices.start))
    base, head = traces
    change = diff(base, head)
    relu = next(line for line in change.bill if line.name == "aten::relu")
    assert (relu.base_count, relu.head_count) == (1, 4)
    assert sum(line.ns for line in change.bill) == pytest.approx(change.step_ns)
    told = answers(head, base=base)
    assert told.summary.steps == 10 and told.memory is not None and asdict(told)["ops"]
    assert {"Overview", "Steps", "Ops", "Memory"} <= {section.title for section in sections(told)}
    assert key_averages(head).rows[0].self_ns > 0
