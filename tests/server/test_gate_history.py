"""The gate over all measured commits behind head."""

import json
import random
from pathlib import Path

from .repository import Repository, noise


def test_a_new_level_fails_once_five_results_agree(repository: Repository) -> None:
    values = noise(25)
    commits = repository.history([*values[:20], *(1.1 * value for value in values[20:])])
    for at in range(13, 24):
        assert repository.gate("--history", "--head", commits[at])[0] == 0
    code, out = repository.gate("--history", "--output", "verdict.json")
    assert code == 1
    assert f"regression since {commits[20][:12]}" in out
    assert "head " + commits[24] + " after 24 commits" in out
    assert json.loads(Path("verdict.json").read_text())["findings"][0]["since"] == commits[20]


def test_a_lucky_fast_run_before_head_is_no_alarm(repository: Repository) -> None:
    values = noise(24)
    values[-2] = 0.5
    repository.history(values)
    assert repository.gate("--history")[0] == 0


def test_results_that_came_late_stand_where_git_has_them(repository: Repository) -> None:
    values = noise(25)
    values = [*values[:20], *(1.1 * value for value in values[20:])]
    commits = [repository.commit() for _ in values]
    for at in random.Random(1).sample(range(25), 25):
        repository.measure(commits[at], values[at])
    code, out = repository.gate("--history")
    assert (code, f"regression since {commits[20][:12]}" in out) == (1, True)


def test_the_last_tag_behind_head_is_the_release(repository: Repository) -> None:
    repository.history(noise(20))
    repository.git("tag", "v1.0")
    repository.history([1.05 * value for value in noise(25, 1)])
    repository.git("tag", "v1.1")  # on head itself: what it ships is held against what v1.0 did
    code, out = repository.gate("--history")
    assert code == 0
    assert "drift since v1.0" in out
    assert "step drifted: +" in out and " since v1.0" in out


def test_a_history_that_is_too_short_says_so(repository: Repository) -> None:
    commits = repository.history(noise(13))
    code, out = repository.gate("--history")
    assert code == 2
    assert "No benchmark was measured at 14 commits yet: a history tells nothing before." in out
    more = repository.commit()
    repository.measure(more, 1.0)
    repository.measure(more, 1.0, benchmark="new")
    code, out = repository.gate("--history")
    assert code == 0
    assert "1 benchmark with less than 14 commits not judged yet." in out
    repository.measure(repository.commit(), 1.0, benchmark="new")
    code, out = repository.gate("--history")
    assert (code, "missing" in out) == (2, True)
    assert repository.gate("--history", "--head", commits[0])[0] == 2
