"""Dispatch modes see every call; FlopCounter counts with one; the table says what computes what."""

import threading
from typing import Any

import pytest

from perflab import runtime as rt
from perflab.runtime import OpError, Tensor, nn


class Log(rt.DispatchMode):
    def __init__(self) -> None:
        self.calls: list[str] = []

    def __dispatch__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.calls.append(op.__name__)
        return op(*args, **kwargs)


def test_it_sees_calls_with_their_arguments() -> None:
    seen: list[Any] = []

    class Keep(rt.DispatchMode):
        def __dispatch__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            seen.append((op, args, kwargs))
            return super().__dispatch__(op, args, kwargs)

    x = rt.tensor([[1.0, 2.0]])
    with Keep() as mode:
        assert isinstance(mode, Keep)
        y = x + 3
        rt.sum(x, axis=0)
        rt.concat([x, y], axis=1)
    (add, args, kwargs), (_, _, of_sum), (concat, of_concat, _) = seen
    assert add is rt.add and args[0] is x and args[1] == 3 and kwargs == {}
    assert of_sum["axis"] == (0,) and concat is rt.concat and of_concat[0][0] is x and of_concat[0][1] is y
    assert y.tolist() == [[4.0, 5.0]] and len(seen) == 3


def test_what_it_gives_takes_the_result_s_place() -> None:
    class Constant(rt.DispatchMode):
        def __dispatch__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return rt.full((2,), 7.0)

    with Constant():
        assert (rt.ones(3) * 2.0).tolist() == [7.0, 7.0]


def test_ops_inside_of_it_are_not_seen_again_but_by_outer_modes() -> None:
    class Twice(Log):
        def __dispatch__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return super().__dispatch__(op, args, kwargs) * 2.0

    outer, inner = Log(), Twice()
    with outer, inner:
        y = rt.ones(2) + 1.0
    assert y.tolist() == [4.0, 4.0] and inner.calls == ["add"] and outer.calls == ["add", "mul"]


def test_backward_is_seen() -> None:
    x = rt.tensor([1.0, 2.0], requires_grad=True)
    y = (x.exp() * 3.0).sum()
    for create_graph in (False, True):
        with Log() as log:
            y.backward(retain_graph=True, create_graph=create_graph)
        assert log.calls.count("mul") == 2  # of the factor, and of exp
    expected = (2 * 3 * x.detach().exp()).tolist()
    assert x.grad is not None and x.grad.detach().tolist() == pytest.approx(expected)


def test_gradients_are_recorded_under_it_and_in_place_ops_are_seen() -> None:
    x = rt.tensor([1.0, 2.0], requires_grad=True)
    with Log() as log:
        y = x * 2.0
        y.add_(1.0)
    assert log.calls == ["mul", "add_"] and y.detach().tolist() == [3.0, 5.0]
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0]


def test_it_is_on_for_one_thread_and_ends_with_an_exception() -> None:
    log = Log()
    with pytest.raises(KeyError), log:
        thread = threading.Thread(target=lambda: rt.ones(1) + 1.0)
        thread.start()
        thread.join()
        raise KeyError
    assert (rt.ones(1) + 1.0).item() == 2.0 and log.calls == []


def test_wrong_results_and_errors_come_out() -> None:
    class Wrong(rt.DispatchMode):
        def __dispatch__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return 3

    class Failing(rt.DispatchMode):
        def __dispatch__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            raise LookupError("on purpose")

    with Wrong(), pytest.raises(TypeError, match=r"Wrong.__dispatch__ must return what add gives, 1 Tensor, not 3"):
        rt.ones(1) + 1.0
    with Failing(), pytest.raises(LookupError, match="on purpose"):
        rt.ones(1) + 1.0


# --- FlopCounter


def test_flops_of_forward_and_backward() -> None:
    a, b = rt.randn(4, 8, requires_grad=True), rt.randn(8, 3, requires_grad=True)
    with rt.FlopCounter() as counter:
        y = (a @ b).sum()
    assert counter.get_flop_counts()["Global"]["matmul"] == 2 * 4 * 8 * 3
    with rt.FlopCounter() as counter:
        y.backward()
    assert counter.get_flop_counts()["Global"]["matmul"] == 2 * 2 * 4 * 8 * 3


def test_flops_by_module() -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    with rt.FlopCounter(model) as counter:
        model(rt.ones((4, 8)))
    counts = counter.get_flop_counts()
    assert counts["Sequential.0"]["matmul"] == 2 * 4 * 8 * 16
    assert counts["Sequential.2"]["matmul"] == 2 * 4 * 16 * 2
    assert counts["Sequential"]["matmul"] == counts["Global"]["matmul"] == 2 * 4 * (8 * 16 + 16 * 2)
    assert sum(counts["Sequential.1"].values()) == 4 * 16
    assert counter.get_total_flops() == sum(counts["Global"].values())
    table = counter.get_table()
    assert table.splitlines()[0].split() == ["Module", "FLOP", "%", "Total"]
    assert "Sequential.2" in table and "100.00%" in table and "1,024" in table
    assert "Sequential.2" not in counter.get_table(depth=0)
    model(rt.ones((4, 8)))
    assert counter.get_flop_counts() == counts  # off again


def test_flops_of_backward_by_module() -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    with rt.FlopCounter(model) as counter:
        loss = model(rt.ones((4, 8))).square().mean()
        forward = counter.get_flop_counts()
        loss.backward()
    counts = counter.get_flop_counts()
    first, last = 2 * 4 * 8 * 16, 2 * 4 * 16 * 2  # the input needs no gradient: the first layer has but its weight's
    assert forward["Sequential.0"]["matmul"] == first and forward["Sequential.2"]["matmul"] == last
    assert counts["Sequential.0"]["matmul"] == 2 * first and counts["Sequential.2"]["matmul"] == 3 * last
    assert counts["Sequential"]["matmul"] == counts["Global"]["matmul"] == 2 * first + 3 * last
    assert sum(counts["Sequential.1"].values()) > sum(forward["Sequential.1"].values()) == 4 * 16
    assert counts["Global"].keys() - counts["Sequential"].keys() >= {"square"}


def test_flops_of_a_function_s_backward_and_of_second_gradients_belong_to_the_module() -> None:
    class Product(rt.Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
            a, b = ctx.saved_tensors
            return g @ b.mT, a.mT @ g

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(rt.ones(8, 3))

        def forward(self, x: Tensor) -> Tensor:
            result: Tensor = Product.apply(x, self.weight)
            return result

    model, x = nn.Sequential(Block(), Block()), rt.ones(2, 8, requires_grad=True)
    model[1].weight = nn.Parameter(rt.ones(3, 8))
    one = 2 * 2 * 8 * 3
    with rt.FlopCounter(model) as counter:
        (first,) = rt.autograd.grad((model(x) ** 2).sum(), x, create_graph=True)
        assert counter.get_flop_counts()["Sequential.0"]["matmul"] == 3 * one
        first.sum().backward()
    counts = counter.get_flop_counts()
    assert counts["Sequential.1"]["matmul"] > 3 * one
    assert counts["Sequential"]["matmul"] == counts["Global"]["matmul"]
    of_parts = counts["Sequential.0"]["matmul"] + counts["Sequential.1"]["matmul"]
    assert of_parts == counts["Global"]["matmul"]


def test_flops_of_a_checkpoint_count_its_second_forward() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    x = rt.ones(4, 8, requires_grad=True)
    with rt.FlopCounter(model) as counter:
        rt.utils.checkpoint.checkpoint(model, x, use_reentrant=False).sum().backward()
    assert counter.get_flop_counts()["Sequential.0"]["matmul"] == 4 * 2 * 4 * 8 * 8


# --- the table


def test_the_dispatch_table() -> None:
    table = rt.dispatch_table("add")
    assert table["cpu"]["float32"] == "native" and table["cpu"]["int64"] == "native"
    assert table["cuda"]["float16"] == "native" and table["cuda"]["complex64"] == "python"
    assert rt.dispatch_table("matmul")["cuda"]["float32"] == "python"  # CuPy's, which is cuBLAS
    lines = str(table).splitlines()
    assert lines[0].split() == ["add", "cpu", "cuda"] and ["float32", "native", "native"] in [
        line.split() for line in lines
    ]
    assert set(table["cpu"].values()) <= {"native", "python", "none"}
    with pytest.raises(OpError, match="there is no op called 'nothing'"):
        rt.dispatch_table("nothing")


def test_a_mode_keeps_tensors_identity() -> None:
    kept: list[Tensor] = []

    class Chain(rt.DispatchMode):
        def __dispatch__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if kept:
                assert args[0] is kept[-1]
            kept.append(op(*args, **kwargs))
            return kept[-1]

    with Chain():
        y = ((rt.ones(2) + 1.0) * 2.0).exp()
    assert y is kept[-1] and len(kept) == 3
