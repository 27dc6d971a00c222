"""Tokens as they are kept."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from perflab.server.access import register as module
from perflab.server.access import secret
from perflab.server.access.entries import TokenOrder
from perflab.server.access.register import Register
from perflab.server.access.scopes import Scope
from perflab.server.errors import NotFound, Refused
from perflab.server.settings import Settings

from ..conftest import EMBEDDED


@pytest.fixture(params=["embedded", "team"])
def settings(request: pytest.FixtureRequest) -> Settings:
    """Both kinds of lab."""
    settings: Settings = request.getfixturevalue(request.param)
    return settings


def order(
    name: str = "ci", scope: Scope = Scope.WRITE, project: str | None = None, days: int | None = None
) -> TokenOrder:
    return TokenOrder(name=name, scope=scope, project=project, days=days)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    """The moment that the register takes for now."""
    now = [datetime(2026, 1, 31, 12, tzinfo=UTC)]
    monkeypatch.setattr(module, "_now", lambda: now[0])
    return now


@EMBEDDED
def test_a_secret_opens_its_token_and_is_kept_nowhere(register: Register, settings: Settings) -> None:
    made = register.make_token(order(project="demo"))
    assert made.secret.startswith("perflab_")
    assert len(made.secret) == len("perflab_") + 43  # 32 bytes in base64
    found = register.token(made.secret)
    assert found is not None
    assert (found.id, found.name, found.scope, found.project) == (made.token.id, "ci", Scope.WRITE, "demo")
    assert register.token(made.secret + "x") is None
    assert register.token("") is None
    with closing(sqlite3.connect(settings.database)) as connection:
        kept = "\n".join(connection.iterdump())
    assert made.secret not in kept
    assert made.secret.removeprefix("perflab_") not in kept
    assert secret.digest(made.secret) in kept


def test_no_two_tokens_are_alike(register: Register) -> None:
    made = {register.make_token(order()).secret for _ in range(50)}
    assert len(made) == 50
    assert [token.id for token in register.tokens()] == list(range(50, 0, -1))


def test_a_token_is_good_until_it_is_revoked(register: Register) -> None:
    kept, ended = register.make_token(order()), register.make_token(order())
    first = register.revoke_token(ended.token.id)
    assert first.revoked is not None
    assert register.token(ended.secret) is None
    assert register.token(kept.secret) is not None
    assert register.revoke_token(ended.token.id) == first  # it ended when it first did
    with pytest.raises(NotFound, match="the lab has no token 9; list the tokens it has"):
        register.revoke_token(9)


def test_a_token_is_good_for_its_days(register: Register, clock: list[datetime]) -> None:
    made = register.make_token(order(days=30))
    assert made.token.expires == clock[0] + timedelta(days=30)
    clock[0] += timedelta(days=30, microseconds=-1)
    assert register.token(made.secret) is not None
    clock[0] += timedelta(microseconds=1)
    assert register.token(made.secret) is None


def test_its_last_use_is_noted_to_the_minute(register: Register, clock: list[datetime]) -> None:
    made = register.make_token(order())
    first = clock[0]
    for seconds, noted in ((0, 0), (59, 0), (60, 60), (61, 60), (200, 200)):
        clock[0] = first + timedelta(seconds=seconds)
        register.token(made.secret)
        assert register.tokens()[0].used == first + timedelta(seconds=noted)


def test_an_admin_is_one_of_all_projects_that_is_good(register: Register, clock: list[datetime]) -> None:
    assert not register.has_admin()
    register.make_token(order(scope=Scope.WRITE))
    register.make_token(order(scope=Scope.ADMIN, project="demo"))
    assert not register.has_admin()
    revoked = register.make_token(order(scope=Scope.ADMIN))
    assert register.has_admin()
    register.revoke_token(revoked.token.id)
    assert not register.has_admin()
    register.make_token(order(scope=Scope.ADMIN, days=1))
    assert register.has_admin()
    clock[0] += timedelta(days=1)
    assert not register.has_admin()


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "two\nlines"])
def test_a_token_has_a_name(register: Register, name: str) -> None:
    with pytest.raises(Refused, match="is no name of a token; give up to 100 printable characters"):
        register.make_token(order(name))
    assert register.tokens() == []


@pytest.mark.parametrize("days", [0, -1, 3651])
def test_a_token_is_good_for_a_number_of_days(register: Register, days: int) -> None:
    with pytest.raises(Refused, match=f"cannot be good for {days} days; give 1 to 3650"):
        register.make_token(order(days=days))


def test_the_log_is_read_from_its_end(register: Register) -> None:
    for number in range(5):
        register.record("ada", "upload", f"file {number}", "10.0.0.1")
    assert [entry.detail for entry in register.entries(2)] == ["file 4", "file 3"]
    [older] = register.entries(1, before=3)
    assert (older.id, older.who, older.action, older.detail, older.address) == (
        2,
        "ada",
        "upload",
        "file 1",
        "10.0.0.1",
    )
    assert abs(older.at - datetime.now(UTC)) < timedelta(hours=1)


@pytest.mark.parametrize("mine", Scope)
@pytest.mark.parametrize("asked", Scope)
def test_each_scope_includes_those_before_it(mine: Scope, asked: Scope) -> None:
    order = ["read", "write", "admin"]
    assert mine.includes(asked) == (order.index(mine) >= order.index(asked))
