"""The adviser: each rule on a trace that has nothing else wrong."""

import pytest

from perflab.profiler import Trace, TraceBuilder, Track
from perflab.profiler.analysis.advice import Advice, advise
from perflab.profiler.ceilings import Ceilings

MAIN, LOADER, DEVICE = Track(1, 1, "main"), Track(1, 3, "loader"), Track(0, 7)
MAIN_GIL, LOADER_GIL = Track(1, 10_000_001), Track(1, 10_000_003)
STEP = 1_000_000


class Loop:
    """Steps of 1 ms, busy with one op from begin to end unless something else is put in."""

    def __init__(self, steps: int = 3) -> None:
        self.builder = TraceBuilder()
        for number in range(steps):
            self.slice(f"ProfilerStep#{number}", number * STEP, STEP, category="user_annotation")

    def slice(
        self, name: str, start: int, duration: int, track: Track = MAIN, category: str = "cpu_op", **args: object
    ) -> int:
        return self.builder.slice(name, start, duration, track=track, category=category, args=args)

    def every(self, name: str, start: int, duration: int, track: Track = MAIN, category: str = "cpu_op") -> None:
        for number in range(3):
            self.slice(name, number * STEP + start, duration, track, category)

    def advice(self, ceilings: Ceilings | None = None) -> list[Advice]:
        """Without that on the heaviest op, which fills up what others leave."""
        return [one for one in advise(self.trace(), ceilings) if not one.title.startswith("Look at ")]

    def trace(self) -> Trace:
        trace = self.builder.build()
        trace.check()
        return trace


def test_waiting_for_data() -> None:
    it = Loop()
    it.every("enumerate(DataLoader)#x.__next__", 0, 300_000, category="user_annotation")
    it.every("mm", 300_000, 700_000)
    (one,) = it.advice()
    assert (one.title, one.saving_ns) == ("Load data ahead", 300_000)
    assert one.evidence == "the loop waits for its next batch for 300 us of 1 ms a step (30%)"


def test_the_step_to_look_at_is_the_one_where_it_costs_most() -> None:
    it = Loop()
    it.every("mm", 400_000, 600_000)
    for number, ns in enumerate((100_000, 400_000, 100_000)):
        it.slice("data", number * STEP, ns, category="user_annotation")
    data, idle = it.advice()
    assert (data.title, data.saving_ns, data.step) == ("Load data ahead", 200_000, 1)
    assert (idle.title, idle.step) == ("Do less in Python between ops", 0)


def test_waiting_for_the_gil_names_the_holder() -> None:
    it = Loop()
    it.every("mm", 0, 1_000_000)
    for number in range(3):
        start = number * STEP
        it.slice("GIL held: numpy", start + 100_000, 150_000, LOADER_GIL, "gil", Thread=3)
        it.slice("GIL wait: main", start + 100_000, 200_000, MAIN_GIL, "gil", Thread=1)
        it.slice("collate", start + 100_000, 150_000, LOADER)
    (one,) = it.advice()
    assert (one.title, one.saving_ns) == ("Keep the GIL free", 200_000)
    assert one.evidence.endswith("200 us of 1 ms a step (20%); loader held it for 75% of that")


def test_garbage_and_python() -> None:
    it = Loop()
    it.every("gc: generation 2", 0, 200_000, category="gc")
    it.every("mm", 300_000, 700_000)
    assert [(one.title, one.saving_ns) for one in it.advice()] == [
        ("Collect garbage less often", 200_000),
        ("Do less in Python between ops", 100_000),
    ]


def test_dispatch_beside_kernels() -> None:
    it = Loop()
    it.every("mm", 0, 1_000_000)
    it.every("mm_native_float32", 400_000, 600_000, category="kernel")
    (one,) = it.advice()
    assert (one.title, one.saving_ns) == ("Call fewer, larger ops", 400_000)
    assert "mm once" in one.evidence


def launched(it: Loop, op: str, at: int, begin: int, duration: int, kernel: str = "gemm") -> None:
    it.slice(op, at, 20_000)
    call = it.slice("cudaLaunchKernel", at + 5_000, 10_000, category="cuda_runtime")
    it.builder.flow("ac2g", call, it.slice(kernel, begin, duration, DEVICE, "kernel"))


def test_a_device_that_waits_for_launches_and_for_the_host() -> None:
    it = Loop()
    launched(it, "aten::mm", 0, 30_000, 500_000)
    launched(it, "aten::late", 800_000, 830_000, 500_000)
    it.slice("cudaDeviceSynchronize", 900_000, 500_000, category="cuda_runtime")
    launched(it, "aten::dry", 1_450_000, 1_480_000, 1_520_000)
    sooner, dry = it.advice()
    assert (sooner.title, sooner.saving_ns) == ("Launch sooner", 100_000)
    assert "before aten::late (100 us)" in sooner.evidence
    assert (dry.title, dry.saving_ns) == ("Do not wait for the device", 50_000)
    assert dry.evidence.endswith("next came aten::dry")


def test_exposed_communication_is_measured_against_the_devices_pace() -> None:
    it = Loop()
    launched(it, "aten::mm", 0, 30_000, 3_000_000)
    launched(it, "all_reduce", 50_000, 3_030_000, 3_000_000, "ncclDevKernel_AllReduce")
    (one,) = it.advice()
    assert (one.title, one.saving_ns) == ("Hide communication", 1_000_000)
    assert one.evidence == "device 0 computes nothing beside communication for 1 ms of 2 ms a step (50%)"


def test_slow_steps() -> None:
    builder = TraceBuilder()
    start = 0
    for number in range(8):
        duration = 4 * STEP if number == 5 else STEP
        builder.slice(f"ProfilerStep#{number}", start, duration, track=MAIN, category="user_annotation")
        builder.slice("mm", start, duration, track=MAIN, category="cpu_op")
        start += duration
    one = advise(builder.build())[0]
    assert (one.title, one.saving_ns, one.step) == ("Find out why some steps are slow", pytest.approx(375_000), 5)
    assert "step 5 stands out of 8: step 5 takes 4 ms in place of 1 ms, 3 ms of it more in forward" in one.evidence


def test_an_op_far_from_the_roof() -> None:
    table = [["mm", [[64, 64], [64, 64]], ["float", "float"], 10_000_000, 50_000]]
    builder = TraceBuilder({"costs": table})
    args = {"Input Dims": table[0][1], "Input type": table[0][2]}
    builder.slice("mm", 0, STEP, track=MAIN, category="cpu_op", args=args)
    trace = builder.build()
    (look,) = advise(trace)
    assert (look.title, look.saving_ns) == ("Look at mm [64, 64] [64, 64] first", 1_000_000)
    assert look.evidence == "it takes 1 ms of 1 ms (100%) in 1 call, at 10.0 GFLOP/s"
    (one,) = advise(trace, Ceilings("", "a CPU", 50e9, 10e9))
    assert (one.title, one.saving_ns) == ("Make mm [64, 64] [64, 64] faster", 800_000)
    assert "reaches 20% of what this machine can (FLOP/s)" in one.evidence


def test_an_optimizer_of_many_ops() -> None:
    it = Loop()
    it.every("mm", 0, 700_000)
    it.every("Optimizer.step#AdamW.step", 700_000, 300_000, category="user_annotation")
    for place in range(20):
        it.every("mul_", 700_000 + place * 15_000, 15_000)
    (one,) = it.advice()
    assert (one.title, one.saving_ns) == ("Use a fused optimizer", 300_000)
    assert one.evidence == "the optimizer takes 300 us of 1 ms a step (30%) in 20 ops"


def test_a_leak_of_a_few_bytes_is_not_worth_a_word() -> None:
    it, total = Loop(5), 1_000_000
    for number in range(5):
        total += 64
        args = {"Addr": number + 1, "Bytes": 64, "Total Allocated": total}
        it.builder.instant("[memory]", number * STEP + 600_000, track=MAIN, args=args)
    assert [one for one in it.advice() if one.saving_bytes] == []


def test_a_leak_comes_first() -> None:
    it, total = Loop(5), 0
    for number in range(5):
        it.slice("enumerate(DataLoader)#x.__next__", number * STEP, 400_000, category="user_annotation")
        it.slice("cat", number * STEP + 500_000, 500_000)
        total += 2048
        args = {"Addr": number + 1, "Bytes": 2048, "Total Allocated": total}
        it.builder.instant("[memory]", number * STEP + 600_000, track=MAIN, args=args)
    leak, data, *_ = it.advice()
    assert (leak.title, leak.saving_bytes) == ("Stop the leak", 2048)
    assert leak.evidence == "memory grows by 2 KiB a step; 2 KiB of it is of cat in (none)"
    assert data.title == "Load data ahead"


def test_no_more_than_three_and_nothing_for_nothing() -> None:
    it = Loop()
    it.every("gc: generation 2", 0, 100_000, category="gc")
    it.every("data", 100_000, 200_000, category="user_annotation")
    it.every("mm", 500_000, 500_000)
    it.every("mm_native_float32", 800_000, 200_000, category="kernel")
    found = it.advice()
    assert [one.saving_ns for one in found] == [300_000, 200_000, 200_000]
    assert advise(TraceBuilder().build()) == []
    busy = Loop()
    busy.every("mm", 0, STEP)
    assert busy.advice() == []
