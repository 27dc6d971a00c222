"""What the file of waivers allows: slower benchmarks for a while, removed ones, renamed ones."""

from datetime import date, timedelta

import pytest

from .repository import SLOWER, STEADY, Repository, noise


def waive(repository: Repository, *, ceiling: float = 1.3, days: int = 1, metric: str = "s") -> None:
    expires = (date.today() + timedelta(days=days)).isoformat()
    (repository.folder / "waivers.toml").write_text(
        f'[[waiver]]\nbenchmark = "step"\nmetric = "{metric}"\nceiling = {ceiling}\nexpires = {expires}\n'
        'reason = "#12"\n'
    )


def test_a_waiver_lets_a_regression_pass_and_says_so(slower: Repository) -> None:
    waive(slower, days=0)
    code, out = slower.gate("--waivers", "waivers.toml")
    assert code == 0
    assert "passed, 1 benchmark, 1 waived" in out
    assert f"step is waived until {date.today().isoformat()}, up to +30.0 %: #12." in out


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"days": -1}, "The waiver for step expired on "),
        ({"ceiling": 1.1}, "step is worse than its waiver allows (until "),
        ({"metric": "bytes"}, "A waiver names step in bytes, which was not judged."),
    ],
)
def test_a_waiver_that_does_not_cover_it_fails(slower: Repository, how: dict[str, int], sentence: str) -> None:
    waive(slower, **how)  # type: ignore[arg-type]
    code, out = slower.gate("--waivers", "waivers.toml")
    assert (code, sentence in out) == (1, True)


def test_a_bad_file_of_waivers_is_a_wrong_call(repository: Repository) -> None:
    code, out = repository.gate("--waivers", "waivers.toml")
    assert (code, "waivers.toml: No such file or directory; name a file of waivers" in out) == (3, True)


def test_a_benchmark_that_was_removed_on_purpose_is_no_alarm(repository: Repository) -> None:
    base, head = repository.commit(), repository.commit()
    for benchmark in ("step", "gone"):
        repository.measure(base, *STEADY, benchmark=benchmark)
    repository.measure(head, *STEADY)
    code, out = repository.gate()
    assert (code, "gone" in out, "missing" in out) == (2, True, True)
    (repository.folder / "waivers.toml").write_text('[[removed]]\nbenchmark = "gone"\nreason = "step covers it"\n')
    code, out = repository.gate("--waivers", "waivers.toml")
    assert (code, "gone is removed: step covers it." in out) == (0, True)


RENAMED = '[[renamed]]\nbenchmark = "new name"\nwas = "step"\n'


def assert_goes_on(repository: Repository, *arguments: str) -> None:
    """Without the file the old name is missing; with it, the new one is a fifth slower than the old one was."""
    code, out = repository.gate(*arguments)
    assert (code, "step" in out, "regression" in out) == (2, True, False)
    (repository.folder / "waivers.toml").write_text(RENAMED)
    code, out = repository.gate(*arguments, "--waivers", "waivers.toml")
    assert (code, "missing" in out, "regression" in out) == (1, False, True)
    assert "new name" in out


def test_a_renamed_benchmark_is_held_against_what_it_was(repository: Repository) -> None:
    repository.measure(repository.commit(), *STEADY)
    repository.measure(repository.commit(), *SLOWER, benchmark="new name")
    assert_goes_on(repository)


def test_a_renamed_benchmark_goes_on_with_its_history(repository: Repository) -> None:
    values = noise(25)
    repository.history(values[:20])
    for value in values[20:]:
        repository.measure(repository.commit(), 1.2 * value, benchmark="new name")
    assert_goes_on(repository, "--history")
