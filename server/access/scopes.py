"""Who asks, and what a route asks of them.

Each route, or the router that it is on, has one of PUBLIC, READS, WRITES, ADMINS and RULES among its dependencies.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from fastapi import Depends, Request

from ..errors import Forbidden, SignInNeeded


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
    """Who asks: a token, a share link, or whoever sits at a machine that serves itself alone.

    `project` is the only one that they may see, None for all; `masked`: whatever they see is masked.
    """

    name: str
    scope: Scope
    project: str | None = None
    masked: bool = False


LOCAL = Caller("this machine", Scope.ADMIN)


class Needs:
    """A route's dependency: refuses callers without the scope, and where it is `of_lab`, those of one project.

    Raises SignInNeeded, Forbidden.
    """

    def __init__(self, scope: Scope | None, *, of_lab: bool = False) -> None:
        self.scope = scope
        self.of_lab = of_lab

    def __str__(self) -> str:
        return "anyone" if self.scope is None else f"{self.scope}{', all projects' if self.of_lab else ''}"

    def __call__(self, request: Request) -> None:
        if self.scope is None:
            return
        request.state.needs = self.scope
        caller: Caller | None = request.state.caller
        if caller is None:
            raise SignInNeeded("this lab asks for a token; send `Authorization: Bearer ...`, or sign in at /sign-in")
        if not caller.scope.includes(self.scope):
            raise Forbidden(
                f"this needs the scope {self.scope} and {caller.name} has {caller.scope}; "
                "ask who keeps the lab for another token"
            )
        if self.of_lab and caller.project is not None:
            raise Forbidden(
                f"this concerns the whole lab and {caller.name} is for project {caller.project}; "
                "use an admin token for all projects"
            )


PUBLIC: Any = Depends(Needs(None))
READS: Any = Depends(Needs(Scope.READ))
WRITES: Any = Depends(Needs(Scope.WRITE))
ADMINS: Any = Depends(Needs(Scope.ADMIN))
RULES: Any = Depends(Needs(Scope.ADMIN, of_lab=True))
