"""Who asks, and what they may do."""

from dataclasses import dataclass
from enum import StrEnum


class Scope(StrEnum):
    """What a token allows; each includes those before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def includes(self, other: "Scope") -> bool:
        """Whether who has this scope may do what asks for `other`."""
        scopes = list(Scope)
        return scopes.index(self) >= scopes.index(other)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: a token, a link, or whoever sits at a machine that serves itself alone.

    `project` is the only one that they may see, None for all; `key` is what their requests are counted by, None where
    they are not counted; `shared`: they see a page by its link, whatever is on it masked.
    """

    name: str
    scope: Scope
    project: str | None = None
    key: str | None = None
    shared: bool = False

    @property
    def keeps(self) -> bool:
        """Whether they keep the lab, and so may open its settings."""
        return self.scope is Scope.ADMIN and self.project is None


LOCAL = Caller("this machine", Scope.ADMIN)
