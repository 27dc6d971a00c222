"""Exact counters: what is counted, and that one op more is always seen."""

import gc
from collections.abc import Callable

import pytest

from perflab import runtime as rt
from perflab.benchmarks.counters import Counters, CountersFile, OpCounters, count, differences
from perflab.benchmarks.errors import BenchmarkFormatError
from perflab.runtime import nn, optim


def network(extra: Callable[[rt.Tensor], rt.Tensor] = lambda hidden: hidden) -> Callable[[], None]:
    """A training step; `extra` comes between its layers."""
    first, second = nn.Linear(16, 32), nn.Linear(32, 4)
    optimizer = optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    x, y = rt.randn(8, 16), rt.randint(0, 4, (8,))

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(second(extra(first(x).relu())), y).backward()
        optimizer.step()

    step()
    return step


def test_counters_of_a_few_ops() -> None:
    a, b = rt.ones(4, 8), rt.ones(8, 2)
    counted = count(lambda: (a @ b).relu() + 1)
    expected = {"matmul": 32, "relu": 32, "add": 32}
    flops = {"matmul": 2 * 4 * 8 * 2, "relu": 8, "add": 8}
    assert counted.ops == {name: OpCounters(1, 1, 1, size, flops[name]) for name, size in sorted(expected.items())}
    assert (counted.nodes, counted.syncs) == (0, 0)
    # matmul's result is still there while relu's is made, and gone before add's
    assert counted.peak_bytes == 64


def test_views_run_no_kernel_and_take_no_memory() -> None:
    a = rt.ones(4, 8)
    assert count(lambda: a.transpose(0, 1)).ops == {"transpose": OpCounters(1, 0, 0, 0, 0)}


def test_a_wait_for_a_device_is_counted() -> None:
    a = rt.ones(4, device="sim:0")

    def sums(reads: int) -> None:
        total = a.sum()
        for _ in range(reads):
            total.item()

    sums(1)
    assert differences(count(lambda: sums(1)), count(lambda: sums(3))) == ["devices: 1 -> 3 synchronizations"]


def test_more_work_in_as_many_ops_is_named() -> None:
    a, b, c = rt.ones(4, 8), rt.ones(8, 2), rt.ones(4, 2)
    counted = count(lambda: a @ b), count(lambda: a.transpose(0, 1) @ c)
    assert [it.ops["matmul"].flops for it in counted] == [128, 128]
    wide = rt.ones(4, 16), rt.ones(16, 2)
    assert differences(counted[0], count(lambda: wide[0] @ wide[1])) == ["matmul: 128 -> 256 flops"]


def test_backward_is_counted_with_its_nodes() -> None:
    a = rt.ones(3, requires_grad=True)
    counted = count(lambda: (a * 2).sum().backward())
    assert counted.nodes == 3  # of sum, of mul, and the sum into the leaf
    assert counted.ops["mul"].calls == 2


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_of_others_does_not_count(enabled: bool) -> None:
    a = rt.ones(1000)
    (gc.enable if enabled else gc.disable)()
    try:
        alone = count(lambda: (gc.collect(), a + 1))
        left: list[object] = [rt.ones(100_000)]
        left.append(left)  # goes when the collector comes
        del left
        assert count(lambda: (gc.collect(), a + 1)) == alone
        assert alone.peak_bytes == 4000
        assert gc.isenabled() == enabled
    finally:
        gc.enable()


def test_identical_code_counts_alike() -> None:
    step = network()
    first = count(step)
    assert len(first.ops) > 10
    assert [count(step) == first for _ in range(50)] == [True] * 50


@pytest.mark.parametrize(
    ("extra", "line"),
    [
        (lambda hidden: hidden.copy(), "copy: 0 -> 1 calls, 0 -> 1 kernels, 0 -> 1 allocations, 0 -> 1 KiB"),
        (lambda hidden: hidden.reshape(8, 32), "reshape: 0 -> 1 calls"),
        (
            lambda hidden: hidden + 0,
            "add: 2 -> 3 calls, 2 -> 3 kernels, 2 -> 3 allocations, 1.12 -> 2.12 KiB, 288 -> 544 flops",
        ),
    ],
)
def test_one_op_more_is_named(extra: Callable[[rt.Tensor], rt.Tensor], line: str) -> None:
    assert line in differences(count(network()), count(network(extra)))


def test_one_op_more_among_a_thousand_is_named() -> None:
    a = rt.ones(4)

    def chain(extra: int) -> None:
        b = a
        for _ in range(1000):
            b = b + 1
        for _ in range(extra):
            b = b.copy()

    assert differences(count(lambda: chain(0)), count(lambda: chain(1))) == [
        "copy: 0 -> 1 calls, 0 -> 1 kernels, 0 -> 1 allocations, 0 -> 16 B"
    ]


def test_differences_of_graph_and_peak() -> None:
    base, head = Counters(10, 0, 1024, {}), Counters(11, 0, 4096, {})
    assert differences(base, head) == ["graph: 10 -> 11 nodes", "peak memory: 1 -> 4 KiB"]
    assert differences(base, base) == []


def test_a_file_of_counters_is_read_back() -> None:
    step = count(network())
    odd = Counters(0, 0, 0, {'a "b"\n\u2603': OpCounters(1, 2, 3, 2**60, 5)})
    file = CountersFile({"test_a.py::test[a/b x]": step, "\U0001f600": odd, "none": Counters(0, 0, 0, {})})
    assert CountersFile.from_json(file.to_json()) == file
    assert CountersFile.from_json(CountersFile({}).to_json()) == CountersFile({})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"),
        ("[1]", "list indices"),
        ('{"format": "perflab.run"}', "its format is 'perflab.run'"),
        ('{"format": "perflab.counters", "version": 3}', "its version is 3, and this perflab reads 2"),
        ('{"format": "perflab.counters", "version": 2, "benchmarks": {"a": {}}}', "'ops'"),
        (
            CountersFile({"a": Counters(15, 0, 0, {})}).to_json().replace("15", "1.5"),
            "a counter is no whole number",
        ),
    ],
)
def test_another_file_is_refused(text: str, reason: str) -> None:
    with pytest.raises(BenchmarkFormatError, match="this is no file of counters") as caught:
        CountersFile.from_json(text)
    assert reason in str(caught.value)
