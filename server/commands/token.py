"""`perflab token`: who may ask a server for what. It works on the lab itself, so whoever has its folder keeps it."""

import argparse
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..settings import TOKEN, Settings
from .arguments import ERRORS, add_folder

if TYPE_CHECKING:
    from ..access import entries
    from ..access.register import Register

WHO = "the command line"
SCOPES = ("read", "write", "admin")  # as in access/scopes.py, which is not imported for --help


class Token:
    help = "make, list and revoke the tokens that a server asks for"
    errors = ERRORS

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
        words = "make a token; it is shown this once"
        create = kinds.add_parser("create", help=words, description=words)
        create.add_argument("name", metavar="NAME", help="what it is for, as lists and the audit log say it")
        create.add_argument(
            "--scope", choices=SCOPES, default="read", help="each includes those before it (default: %(default)s)"
        )
        create.add_argument("--project", help="the only one that it is good for (default: all)")
        create.add_argument("--days", type=int, metavar="N", help="how long it is good (default: until it is revoked)")
        words = "list every token"
        listing = kinds.add_parser("list", help=words, description=words)
        words = "end a token for good"
        revoke = kinds.add_parser("revoke", help=words, description=words)
        revoke.add_argument("number", type=int, metavar="NUMBER", help="as `perflab token list` shows it")
        for kind in (create, listing, revoke):
            add_folder(kind)

    def run(self, arguments: argparse.Namespace) -> int:
        from ..store import Store

        settings = Settings.from_environment(arguments.lab)
        with closing(Store.open(settings, create=arguments.kind == "create")) as store:
            {"create": _create, "list": _list, "revoke": _revoke}[arguments.kind](store.register, arguments)
        return 0


def _create(register: "Register", arguments: argparse.Namespace) -> None:
    from ..access.entries import TokenOrder
    from ..access.scopes import Scope

    order = TokenOrder(
        name=arguments.name, scope=Scope(arguments.scope), project=arguments.project, days=arguments.days
    )
    made = register.make_token(order)
    register.record(WHO, "make token", str(made.token))
    print(made.secret)
    print(f"This is {made.token}. It is not shown again; commands take it from ${TOKEN}.")


def _list(register: "Register", arguments: argparse.Namespace) -> None:
    now = datetime.now(UTC)
    rows = [("number", "name", "scope", "project", "made", "last used", "state")]
    rows += [
        (
            str(token.id),
            token.name,
            token.scope,
            token.project or "all",
            f"{token.created:%Y-%m-%d}",
            f"{token.used:%Y-%m-%d}" if token.used else "never",
            _state(token, now),
        )
        for token in register.tokens()
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _state(token: "entries.Token", now: datetime) -> str:
    if token.revoked is not None:
        return f"revoked {token.revoked:%Y-%m-%d}"
    if not token.is_good(now):
        return f"expired {token.expires:%Y-%m-%d}"
    return f"good until {token.expires:%Y-%m-%d}" if token.expires else "good"


def _revoke(register: "Register", arguments: argparse.Namespace) -> None:
    ended = register.revoke_token(arguments.number)
    register.record(WHO, "revoke token", str(ended))
    print(f"Ended {ended}.")
