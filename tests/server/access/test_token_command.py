"""`perflab token`, and serving what others can reach."""

import re
from pathlib import Path

import pytest

from perflab.server.access.register import Register
from perflab.server.settings import Settings
from perflab.server.store import Store

from ..conftest import Perflab


def test_tokens_are_made_listed_and_revoked(perflab: Perflab) -> None:
    code, out, _ = perflab("token", "create", "ci", "--scope", "write", "--project", "demo", "--days", "30")
    assert code == 0
    secret, said = out.splitlines()
    assert re.fullmatch(r"perflab_[\w-]{43}", secret)
    assert said == ("This is token ci (#1, write, demo). It is not shown again; commands take it from $PERFLAB_TOKEN.")
    assert perflab("token", "create", "ada", "--lab", ".perflab")[0] == 0
    store = Store.open(Settings(Path(".perflab")), create=False)
    register: Register = store.register
    token = register.token(secret)
    assert token is not None and token.expires is not None
    assert perflab("token", "revoke", "2") == (0, "Ended token ada (#2, read, all projects).\n", "")
    assert register.token(secret) is not None
    code, out, _ = perflab("token", "list")
    assert code == 0
    today = f"{token.created:%Y-%m-%d}"
    assert [re.split(r"  +", line) for line in out.splitlines()] == [
        ["number", "name", "scope", "project", "made", "last used", "state"],
        ["2", "ada", "read", "all", today, "never", f"revoked {today}"],
        ["1", "ci", "write", "demo", today, today, f"good until {token.expires:%Y-%m-%d}"],
    ]
    assert secret not in out
    assert [(entry.who, entry.action, entry.detail) for entry in register.entries()] == [
        ("the command line", "revoke token", "token ada (#2, read, all projects)"),
        ("the command line", "make token", "token ada (#2, read, all projects)"),
        ("the command line", "make token", "token ci (#1, write, demo)"),
    ]
    store.close()


def test_what_cannot_be_done_is_said(perflab: Perflab) -> None:
    assert perflab("token", "list") == (
        3,
        "",
        "perflab: there is no lab in .perflab; upload a file to make one, or name another with --lab\n",
    )
    perflab("token", "create", "ci")
    assert perflab("token", "revoke", "9") == (3, "", "perflab: the lab has no token 9; list the tokens it has\n")
    assert perflab("token", "create", " ")[0] == 3
    assert perflab("token", "create", "ci", "--days", "0")[0] == 3


@pytest.mark.parametrize("arguments", [("--host", "0.0.0.0"), ("--proxy", "127.0.0.1")])
def test_others_are_not_served_without_an_admin(perflab: Perflab, arguments: tuple[str, ...]) -> None:
    code, out, err = perflab("serve", "--port", "0", *arguments)
    assert (code, out) == (3, "")
    assert err == (
        f"perflab: other machines can reach {arguments[1]}, and the lab in .perflab has no admin token to ask them "
        "for; make one with `perflab token create NAME --scope admin`\n"
    )
