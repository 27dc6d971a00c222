"""Tokens, masks, rules of what stays, and the log of what was done."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request

from ..access.entries import Entry, Masking, NewToken, Token, TokenOrder
from ..access.needs import KEEPS, tell
from ..keeping import Rule
from ..store import LARGEST_ID
from .deps import NOT_FOUND, REFUSED, KeepingOf, RegisterOf

router = APIRouter(tags=["access"], dependencies=[KEEPS])


@router.get("/tokens")
def tokens(register: RegisterOf) -> list[Token]:
    """Every token, those that have ended too, the newest first; nothing tells their secrets."""
    return register.tokens()


@router.post("/tokens", responses=REFUSED)
def make_token(register: RegisterOf, request: Request, order: TokenOrder) -> NewToken:
    """Make a token. Its secret is in this answer and nowhere else."""
    made = register.make_token(order)
    tell(request, str(made.token))
    return made


@router.delete("/tokens/{id}", responses=NOT_FOUND | REFUSED)
def revoke_token(register: RegisterOf, request: Request, id: Annotated[int, Path(ge=1, le=LARGEST_ID)]) -> Token:
    """End a token for good; what it has sent stays."""
    ended = register.revoke_token(id)
    tell(request, str(ended))
    return ended


@router.get("/masking")
def masking(register: RegisterOf) -> list[Masking]:
    """Whether what comes is masked: the lab's rule, then those of projects that have one of their own."""
    return register.masking()


@router.put("/masking", responses=REFUSED)
def set_masking(register: RegisterOf, request: Request, rule: Masking) -> list[Masking]:
    """Set the lab's rule, or one project's; null as `masked` takes it away. What came before stays as it is."""
    register.set_masking(rule)
    tell(request, str(rule))
    return register.masking()


@router.get("/retention")
def retention(keeping: KeepingOf) -> list[Rule]:
    """Which traces stay: the lab's rule, where it has one, then those of projects that have one of their own."""
    return keeping.rules()


@router.put("/retention", responses=REFUSED)
def set_retention(keeping: KeepingOf, request: Request, rule: Rule) -> list[Rule]:
    """Set the lab's rule, or one project's, by which workers and `perflab lab gc` make room from now on."""
    keeping.set_rule(rule)
    tell(request, str(rule))
    return keeping.rules()


@router.delete("/retention", responses=REFUSED)
def drop_retention(keeping: KeepingOf, request: Request, project: str | None = None) -> list[Rule]:
    """Take the lab's rule away, or one project's."""
    keeping.drop_rule(project)
    tell(request, f"no rule of {'the lab' if project is None else f'project {project}'}")
    return keeping.rules()


@router.get("/audit", responses=REFUSED)
def audit(
    register: RegisterOf,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    before: Annotated[
        int | None, Query(ge=0, le=LARGEST_ID, description="Only what stands before the entry of this number")
    ] = None,
) -> list[Entry]:
    """What was changed, by whom, and which tokens were refused: the newest first."""
    return register.entries(limit, before)
