"""What is kept of tokens, share links and what was done. Times are in UTC."""

from dataclasses import dataclass
from datetime import datetime

from .scopes import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token without its secret. `project` is None where it is for all, `expires` where it does not end by itself;
    `used` is when it was last shown, to the minute."""

    id: int
    name: str
    scope: Scope
    project: str | None
    created: datetime
    expires: datetime | None
    used: datetime | None
    revoked: datetime | None

    def __str__(self) -> str:
        return f"token {self.name} (#{self.id}, {self.scope}, {self.project or 'all projects'})"

    def is_good(self, now: datetime) -> bool:
        """Whether it opens anything."""
        return self.revoked is None and (self.expires is None or now < self.expires)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token as it was made; `secret` is shown this once."""

    token: Token
    secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenOrder:
    """A token to be made: for a project or, with None, for all; good for so many days or, with None, until revoked."""

    name: str
    scope: Scope
    project: str | None = None
    days: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A link by which anybody sees one page, without its secret. `address` is that of the page, `traces` are those
    whose data it asks for."""

    id: int
    project: str
    address: str
    traces: list[int]
    made_by: str
    created: datetime
    expires: datetime
    revoked: datetime | None

    def __str__(self) -> str:
        return f"share #{self.id} of {self.address} in {self.project}, until {self.expires:%Y-%m-%d %H:%M} UTC"

    def is_good(self, now: datetime) -> bool:
        """Whether it shows anything."""
        return self.revoked is None and now < self.expires


@dataclass(frozen=True, slots=True, kw_only=True)
class NewShare:
    """A share link as it was made; `link` is its address on this server, told this once."""

    share: Share
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareOrder:
    """A page to be shared, by its address from `/` on, and for how many days."""

    address: str
    days: int = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Masking:
    """Whether what comes is masked: of a project, of every other one with None. `masked` None takes a rule away."""

    project: str | None
    masked: bool | None

    def __str__(self) -> str:
        what = {True: "is masked", False: "is not masked", None: "is as the lab's is"}[self.masked]
        return f"what comes to {'the lab' if self.project is None else f'project {self.project}'} {what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What somebody did, or was refused. `address` is where they came from, "" for the command line."""

    id: int
    at: datetime
    who: str
    address: str
    action: str
    detail: str
