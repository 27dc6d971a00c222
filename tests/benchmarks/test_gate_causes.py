"""From the difference of two traces to a ranked bill in words."""

import pytest

from perflab.benchmarks.causes import explain
from perflab.benchmarks.folder import shared_causes
from perflab.benchmarks.gate import Finding
from perflab.benchmarks.result import Benchmark
from perflab.benchmarks.stats import Verdict
from perflab.profiler.analysis.diff import BillLine, OpDelta, TraceDiff

MIB = 2**20


def op(
    name: str,
    self_ns: tuple[float, float],
    count: tuple[float, float] = (1, 1),
    size: tuple[int, int] = (0, 0),
) -> OpDelta:
    return OpDelta(name, *count, *self_ns, *size)


def diff(
    *ops: OpDelta,
    step: tuple[float, float] | None = None,
    peak: tuple[int, int] = (0, 0),
    gil: tuple[float, float] = (0, 0),
) -> TraceDiff:
    """A base step of 3.2 ms; without a `step`, all that it takes longer is in the ops."""
    both = step or (3_200_000, 3_200_000 + sum(op.self_ns for op in ops))
    waited = gil[1] - gil[0]
    outside = both[1] - both[0] - sum(op.self_ns for op in ops) - waited
    bill = (BillLine("wait", "GIL wait", waited, base_ns=gil[0]), BillLine("outside", "outside of ops", outside))
    return TraceDiff(*both, ops, *peak, *gil, bill)


def test_the_bill_of_a_one_hot_matmul() -> None:
    causes = explain(
        diff(
            op("matmul", (613_000, 2_513_000), (2, 4), (MIB, 13 * MIB)),
            op("one_hot", (0, 300_000), (0, 1)),
            op("take", (300_000, 0), (1, 0)),
            op("add", (500_000, 501_000), (4, 4)),
            peak=(12_687_769, 50_646_221),
        )
    )
    assert causes.headline == "A step takes 3.2 -> 5.1 ms (+59.4 %)."
    assert [cause.text for cause in causes.grew] == [
        "matmul: +1.9 ms a step (+310 %), 2 -> 4 calls a step, +12 MiB allocated a step",
        "one_hot: +300 us a step (new), 0 -> 1 calls a step",
        "peak memory 12.1 -> 48.3 MiB (+36.2 MiB)",
    ]
    assert [cause.text for cause in causes.shrank] == ["take: -300 us a step (gone), 1 -> 0 calls a step"]
    assert [cause.share for cause in (*causes.grew, *causes.shrank)] == [
        pytest.approx(0.9995, abs=1e-4),
        pytest.approx(0.158, abs=1e-3),
        None,
        None,
    ]
    assert causes.other_ns == 1000


def test_noise_in_time_is_no_cause() -> None:
    slower = op("matmul", (0, 1_900_000))
    causes = explain(diff(slower, op("add", (500_000, 530_000)), op("mul", (500_000, 470_000))))
    assert [cause.name for cause in causes.grew] == ["matmul"]
    assert (causes.shrank, causes.other_ns) == ((), 0)


def test_time_outside_ops_is_a_cause() -> None:
    (cause,) = explain(diff(op("add", (500_000, 500_000)), step=(1_000_000, 2_000_000))).grew
    assert (cause.kind, cause.ns, cause.share) == ("elsewhere", 1_000_000, 1.0)
    assert cause.text == "outside ops (Python between them, input, waiting): +1 ms a step"
    (cause,) = explain(diff(step=(2_000_000, 1_500_000))).shrank
    assert cause.text == "outside ops (Python between them, input, waiting): -500 us a step"


def test_calls_and_bytes_are_exact() -> None:
    causes = explain(
        diff(
            op("add", (500_000, 501_000), (10, 11)),
            op("copy", (500_000, 499_000), (1, 1), (4096, 8192)),
            op("mul", (500_000, 500_000), (3, 2)),
            op("exp", (500_000, 500_000), (1, 1), (8192, 4096)),
            op("relu", (500_000, 500_000), (100, 100.2), (1_000_000, 1_000_500)),
        )
    )
    assert [cause.text for cause in causes.grew] == [
        "add: 10 -> 11 calls a step",
        "copy: +4 KiB allocated a step",
    ]
    assert [cause.text for cause in causes.shrank] == [
        "exp: -4 KiB allocated a step",
        "mul: 3 -> 2 calls a step",
    ]


def test_each_wait_is_a_cause() -> None:
    lines = (
        BillLine("wait", "data wait", 2_400_000, base_ns=600_000),
        BillLine("wait", "device sync", 700_000),
        BillLine("wait", "garbage collection", -300_000, base_ns=400_000),
        BillLine("outside", "outside of ops", 200_000, base_ns=100_000),
    )
    causes = explain(TraceDiff(4e6, 7e6, (), 0, 0, 0, 0, lines))
    assert [(cause.kind, cause.text) for cause in causes.grew] == [
        ("wait", "waiting for data: +2.4 ms a step (+400 %)"),
        ("wait", "waiting for a device: +700 us a step"),
        ("elsewhere", "outside ops (Python between them, input, waiting): +200 us a step"),
    ]
    assert [cause.text for cause in causes.shrank] == ["garbage collection: -300 us a step (-75.0 %)"]
    assert sum(cause.ns for cause in (*causes.grew, *causes.shrank)) == 3e6


def test_waiting_for_the_gil_is_a_cause() -> None:
    cause, outside = explain(diff(step=(1e6, 2e6), gil=(100_000, 900_000))).grew
    assert (outside.kind, outside.ns) == ("elsewhere", 200_000)
    assert (cause.kind, cause.ns, cause.share) == ("gil", 800_000, 0.8)
    assert cause.text == "waiting for the GIL: +800 us a step (+800 %)"
    cause, _ = explain(diff(step=(2e6, 1e6), gil=(900_000, 0))).shrank
    assert cause.text == "waiting for the GIL: -900 us a step (-100 %)"


def test_memory_that_sank_is_told_too() -> None:
    (cause,) = explain(diff(peak=(48 * MIB, 12 * MIB))).shrank
    assert (cause.kind, cause.text) == ("memory", "peak memory 48 -> 12 MiB (-36 MiB)")
    assert explain(diff(peak=(48 * MIB, 48 * MIB + 1000))).grew == ()


def test_the_rest_is_summed() -> None:
    causes = explain(diff(*(op(f"op{index}", (0, 100_000.0 * (10 - index)), (0, 1)) for index in range(10))))
    assert [cause.name for cause in causes.grew] == ["op0", "op1", "op2", "op3", "op4", "op5"]
    assert causes.other_ns == 1_000_000


def test_nothing_changed() -> None:
    causes = explain(diff(op("add", (1.0, 1.0)), step=(0, 0)))
    assert (causes.grew, causes.shrank) == ((), ())
    assert causes.headline == "A step takes 0 -> 0 ns."


def regressed(name: str, *ops: tuple[str, float]) -> Finding:
    """A benchmark that regressed since each op takes so much longer, in ns a step."""
    causes = explain(diff(*(op(name, (1_000_000, 1_000_000 + more)) for name, more in ops)))
    return Finding(Benchmark(name), Verdict.REGRESSION, None, 1.0, 2.0, causes=causes)


def test_regressions_of_one_cause_are_named_together() -> None:
    findings = [
        regressed("cnn", ("copy", 900_000), ("add", 100_000)),
        regressed("lstm", ("add", 200_000), ("copy", 500_000)),
        regressed("mlp", ("matmul", 400_000)),
        Finding(Benchmark("untraced"), Verdict.REGRESSION, None, 1.0, 2.0),
    ]
    assert shared_causes(findings) == ["2 regressions have one cause, copy: cnn, lstm."]
