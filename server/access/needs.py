"""What a route asks of its callers.

Each route has one of PUBLIC, READS, WRITES, ADMINS and KEEPS among its dependencies, or the router that it is on has;
where both have, both hold.
"""

from typing import Any

from fastapi import Depends, Request

from ..errors import Forbidden, SignInNeeded
from .scopes import Caller, Scope


class Needs:
    """Refuses callers without a scope and, where the route is `of_lab`, those who have it for one project only.

    Raises SignInNeeded, Forbidden.
    """

    def __init__(self, scope: Scope | None, *, of_lab: bool = False) -> None:
        self.scope = scope
        self.of_lab = of_lab

    def __str__(self) -> str:
        return "none" if self.scope is None else f"{self.scope}{', of all projects' if self.of_lab else ''}"

    async def __call__(self, request: Request) -> None:
        if self.scope is None:
            return
        request.state.needs = self.scope
        caller = caller_of(request)
        if not caller.scope.includes(self.scope):
            raise Forbidden(
                f"this needs the scope {self.scope} and {caller.name} has {caller.scope}; "
                "ask who keeps the lab for another token"
            )
        if self.of_lab and caller.project is not None:
            raise Forbidden(
                f"this concerns the whole lab and {caller.name} is for project {caller.project} alone; "
                "ask who keeps the lab for another token"
            )


def caller_of(request: Request) -> Caller:
    """Who asks; raises SignInNeeded where they have not said."""
    caller: Caller | None = request.state.caller
    if caller is None:
        raise SignInNeeded("this lab asks for a token; send it as `Authorization: Bearer ...`, or sign in at /sign-in")
    return caller


def tell(request: Request, what: str) -> None:
    """Say for the audit log what a request did, where its address does not tell."""
    request.state.told = what


PUBLIC: Any = Depends(Needs(None))
READS: Any = Depends(Needs(Scope.READ))
WRITES: Any = Depends(Needs(Scope.WRITE))
ADMINS: Any = Depends(Needs(Scope.ADMIN))
KEEPS: Any = Depends(Needs(Scope.ADMIN, of_lab=True))
