"""Every query on tokens, shares, masks and the audit log."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, Row, Table, and_, delete, insert, or_, select, update

from .. import tables as t
from ..database import reading, write_one, writing
from ..errors import NotFound, Refused
from . import secret
from .entries import Entry, Masking, NewShare, NewToken, Share, Token, TokenOrder
from .scopes import Scope

_MASKING = select(t.masking)

T = TypeVar("T", Token, Share, Entry)
# A token's last use is written down no more often than this: it costs a write.
USE_NOTED_EVERY = timedelta(minutes=1)
LONGEST_NAME = 100
LONGEST_PROJECT = 200
MOST_DAYS = 3650
MOST_SHARED_DAYS = 365
SHARED = "/s/"  # where shared pages are, each under its secret


class Register:
    """The tokens, shares, masks and audit log of one lab; each call is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def make_token(self, order: TokenOrder) -> NewToken:
        """A new token with its secret, which nothing can tell again; raises Refused."""
        name = order.name.strip()
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise Refused(f"{name[:60]!r} is no name of a token; give up to {LONGEST_NAME} printable characters")
        if order.days is not None and not 0 < order.days <= MOST_DAYS:
            raise Refused(f"a token cannot be good for {order.days} days; give 1 to {MOST_DAYS}, or none for no end")
        made, now = secret.new_token(), _now()
        with writing(self._engine) as connection:
            row = _insert(
                connection,
                t.token,
                digest=secret.digest(made),
                name=name,
                scope=order.scope,
                project=order.project or None,
                created=now,
                expires=None if order.days is None else now + timedelta(days=order.days),
            )
        return NewToken(token=_token(row), secret=made)

    def tokens(self) -> list[Token]:
        """Every token, those that are revoked too, the newest first."""
        with reading(self._engine) as connection:
            return [_token(row) for row in connection.execute(select(t.token).order_by(t.token.c.id.desc()))]

    def revoke_token(self, id: int) -> Token:
        """End a token for good; raises NotFound. One that has ended stays as it is."""
        mine = t.token.c.id == id
        with writing(self._engine) as connection:
            connection.execute(update(t.token).where(mine, t.token.c.revoked.is_(None)).values(revoked=_now()))
            row = connection.execute(select(t.token).where(mine)).one_or_none()
        if row is None:
            raise NotFound(f"the lab has no token {id}; list the tokens it has")
        return _token(row)

    def token(self, given: str) -> Token | None:
        """The token of a secret, where it is still good; its use is noted."""
        now, digest = _now(), secret.digest(given)
        with reading(self._engine) as connection:
            row = connection.execute(select(t.token).where(t.token.c.digest == digest)).one_or_none()
        if row is None or not secret.same(row.digest, digest) or not (token := _token(row)).is_good(now):
            return None
        if token.used is None or now - token.used >= USE_NOTED_EVERY:
            with writing(self._engine) as connection:
                connection.execute(update(t.token).where(t.token.c.id == token.id).values(used=now))
        return token

    def has_admin(self) -> bool:
        """Whether there is a token by which the lab can be kept over the network."""
        query = select(t.token.c.id).where(
            t.token.c.scope == Scope.ADMIN,
            t.token.c.project.is_(None),
            t.token.c.revoked.is_(None),
            or_(t.token.c.expires.is_(None), t.token.c.expires > _now()),
        )
        with reading(self._engine) as connection:
            return connection.scalar(query.limit(1)) is not None

    def make_share(self, project: str, address: str, traces: list[int], days: int, who: str) -> NewShare:
        """A new link to a page, which nothing can tell again; raises Refused."""
        if not 0 < days <= MOST_SHARED_DAYS:
            raise Refused(f"a page cannot be shared for {days} days; give 1 to {MOST_SHARED_DAYS}")
        made, now = secret.new_link(), _now()
        with writing(self._engine) as connection:
            row = _insert(
                connection,
                t.share,
                digest=secret.digest(made),
                project=project,
                address=address,
                traces=traces,
                made_by=who,
                created=now,
                expires=now + timedelta(days=days),
            )
        return NewShare(share=_made(Share, row), link=f"{SHARED}{made}")

    def shares(self, project: str | None = None) -> list[Share]:
        """Every share of a project, or of all, those that have ended too, the newest first."""
        query = select(t.share).order_by(t.share.c.id.desc())
        with reading(self._engine) as connection:
            rows = connection.execute(query if project is None else query.where(t.share.c.project == project))
            return [_made(Share, row) for row in rows]

    def revoke_share(self, id: int, project: str | None = None) -> Share:
        """End a share of a project, or of any, for good; raises NotFound. One that has ended stays as it is."""
        mine = and_(t.share.c.id == id, *(() if project is None else (t.share.c.project == project,)))
        with writing(self._engine) as connection:
            connection.execute(update(t.share).where(mine, t.share.c.revoked.is_(None)).values(revoked=_now()))
            row = connection.execute(select(t.share).where(mine)).one_or_none()
        if row is None:
            raise NotFound(f"the lab has no share {id}; list the shares it has")
        return _made(Share, row)

    def share(self, given: str) -> Share | None:
        """The share of a secret, where it is still good."""
        digest = secret.digest(given)
        with reading(self._engine) as connection:
            row = connection.execute(select(t.share).where(t.share.c.digest == digest)).one_or_none()
        if row is None or not secret.same(row.digest, digest) or not _made(Share, row).is_good(_now()):
            return None
        return _made(Share, row)

    def masks(self, project: str) -> bool:
        """Whether what comes to a project is masked: as its rule says, else the lab's, else yes."""
        rules = {rule.project: rule.masked for rule in self.masking()}
        return bool(rules.get(project, rules[None]))

    def masking(self) -> list[Masking]:
        """The lab's rule, then those of projects by name."""
        with reading(self._engine) as connection:
            kept = {row.project: row.masked for row in connection.execute(_MASKING)}
        of_lab = kept.pop("", True)
        return [
            Masking(project=None, masked=of_lab),
            *(Masking(project=name, masked=masked) for name, masked in sorted(kept.items())),
        ]

    def set_masking(self, rule: Masking) -> None:
        """Set or take away a rule, for what comes from now on; what came before stays as it is. Raises Refused."""
        name = "" if rule.project is None else rule.project.strip()
        if rule.project is not None and (not name or len(name) > LONGEST_PROJECT):
            raise Refused(f"{name[:60]!r} is no name of a project; give 1 to {LONGEST_PROJECT} characters")
        with writing(self._engine) as connection:
            connection.execute(delete(t.masking).where(t.masking.c.project == name))
            if rule.masked is not None:
                connection.execute(insert(t.masking).values(project=name, masked=rule.masked))

    def record(self, who: str, action: str, detail: str, address: str = "") -> None:
        """Write down what somebody did, or was refused."""
        write_one(
            self._engine, insert(t.audit).values(at=_now(), who=who, action=action, detail=detail, address=address)
        )

    def entries(self, limit: int = 100, before: int | None = None) -> list[Entry]:
        """What was written down, the newest first; only what stands before the entry of a number, where it is given."""
        query = select(t.audit).order_by(t.audit.c.id.desc()).limit(limit)
        with reading(self._engine) as connection:
            rows = connection.execute(query if before is None else query.where(t.audit.c.id < before))
            return [_made(Entry, row) for row in rows]


def _insert(connection: Connection, table: Table, **values: Any) -> Row[Any]:
    key = connection.execute(insert(table).values(values)).inserted_primary_key
    assert key is not None
    return connection.execute(select(table).where(table.c.id == key[0])).one()


def _token(row: Row[Any]) -> Token:
    return _made(Token, row, scope=Scope(row.scope))


def _made(kind: type[T], row: Row[Any], **better: Any) -> T:
    return kind(**{field.name: getattr(row, field.name) for field in fields(kind)} | better)


def _now() -> datetime:
    return datetime.now(UTC)
