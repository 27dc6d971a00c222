"""A share of the time that recording may take, and what is left out to keep to it."""

import time

import pytest

from perflab import runtime as rt
from perflab.profiler import profile
from perflab.profiler.budget import Budget, Shed
from perflab.profiler.report.answers import answers
from perflab.profiler.report.sections import sections


class Clock:
    """Time, and what recording took of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.spent = 1_000_000_000, 0.0
        monkeypatch.setattr(time, "monotonic_ns", lambda: self.now)

    def pass_by(self, ms: int, spent_ms: float) -> None:
        self.now += ms * 1_000_000
        self.spent += spent_ms * 1e6


def test_details_go_one_after_the_other_while_it_takes_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    left_out: list[str] = []
    clock.spent = 123.0  # by others, before

    def detail(name: str, is_there: bool = True) -> Shed:
        def leave_out() -> bool:
            left_out.append(name)
            return is_there

        return name, leave_out

    budget = Budget(0.02, lambda: clock.spent, [detail("a"), detail("absent", False), detail("b")])
    clock.pass_by(100, 1.9)
    budget.look()
    assert left_out == []
    clock.pass_by(9, 9)  # too short a stretch to judge
    budget.look()
    assert left_out == []
    clock.pass_by(1, 0)
    budget.look()
    assert left_out == ["a"]
    clock.pass_by(100, 1)
    budget.look()
    assert left_out == ["a"]
    for _ in range(3):  # in the end there is nothing more to shed
        clock.pass_by(100, 3)
        budget.look()
        assert left_out == ["a", "absent", "b"]
    assert budget.notes() == {"budget": 0.02, "recordingShare": round(20.9 / 510, 4), "shed": ["a", "b"]}


def steps(prof: profile, count: int) -> None:
    x = rt.ones((4,))
    for _ in range(count):
        time.sleep(0.011)
        x + x
        prof.step()


def test_stacks_and_then_shapes_are_left_out_and_it_is_told() -> None:
    with profile(budget=1e-9, with_stack=True) as prof:
        steps(prof, 4)
    trace = prof.trace
    assert trace.metadata["budget"] == 1e-9
    assert trace.metadata["shed"] == ["stacks", "shapes"]
    assert 0 < trace.metadata["recordingShare"] < 1
    added = trace.select(category="cpu_op", name="add").tolist()
    assert ["Input Dims" in trace.args_of(row) for row in added] == [True, True, False, False]
    sentence = "To keep to its budget the profile left out stacks and shapes after a while."
    assert sentence in prof.key_averages().table()
    assert sentence in sections(answers(trace))[0].sentences
    with profile() as later:
        steps(later, 1)
    row = int(later.trace.select(category="cpu_op", name="add")[0])
    assert later.trace.args_of(row)["Input Dims"] == [[4], [4]]
    assert "budget" not in later.trace.metadata


def test_a_budget_that_is_kept_costs_no_detail() -> None:
    with profile(budget=0.99) as prof:
        steps(prof, 2)
    assert prof.trace.metadata["shed"] == []


@pytest.mark.parametrize("budget", [0, 1, -0.1, 2.0, float("nan")])
def test_it_is_a_share(budget: float) -> None:
    with pytest.raises(ValueError, match=r"it is a share of the time, such as 0\.02"):
        profile(budget=budget)
