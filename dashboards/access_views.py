"""What the page of settings is given. Moments are in UTC."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class TokenRow:
    """A token; `project` is "" for all, `state` is empty where it is good."""

    id: int
    name: str
    scope: str
    project: str
    created: datetime
    expires: datetime | None
    used: datetime | None
    state: str


@dataclass(frozen=True, kw_only=True)
class ShareRow:
    """A page that is or was shared; `state` is empty where its link is good."""

    id: int
    project: str
    address: str
    made_by: str
    created: datetime
    expires: datetime
    state: str


@dataclass(frozen=True, kw_only=True)
class MaskRow:
    """Whether what comes is masked: to a project, or to the lab with ""."""

    project: str
    masked: bool


@dataclass(frozen=True, kw_only=True)
class RuleRow:
    """Which traces stay of a project, or of the lab with "": those of its newest commits, and of one in `thin` older
    ones, in at most `quota` bytes."""

    project: str
    newest: int
    thin: int
    quota: int | None


@dataclass(frozen=True, kw_only=True)
class EntryRow:
    """What somebody did, or was refused."""

    at: datetime
    who: str
    address: str
    action: str
    detail: str


@dataclass(frozen=True, kw_only=True)
class SettingsView:
    """`secret` is that of a token that was just made, with its name; it is shown this once.

    `newest` and `thin` are those of a rule that does not say: how many of a project's newest commits keep their traces,
    and of how many older ones one does.
    """

    who: str
    projects: Sequence[str]
    tokens: Sequence[TokenRow]
    shares: Sequence[ShareRow]
    masks: Sequence[MaskRow]
    rules: Sequence[RuleRow]
    entries: Sequence[EntryRow]
    newest: int
    thin: int
    secret: tuple[str, str] | None = None
