"""The page of settings: tokens, shared pages, masks, what stays, the audit log."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from perflab.dashboards import pages
from perflab.dashboards.access_views import EntryRow, MaskRow, RuleRow, SettingsView, ShareRow, TokenRow

from ..access.entries import Masking, NewToken, Share, Token, TokenOrder
from ..access.needs import KEEPS, caller_of, tell
from ..access.register import Register
from ..access.scopes import Scope
from ..keeping import Keeping, Rule
from ..lab import LocalLab
from ..settings import DEFAULT_NEWEST, DEFAULT_THIN
from .deps import KeepingOf, LabOf, RegisterOf

ENTRIES = 200
GIB = 1 << 30
router = APIRouter(prefix="/settings", include_in_schema=False, dependencies=[KEEPS])


@router.get("")
def settings(lab: LabOf, register: RegisterOf, keeping: KeepingOf, request: Request) -> HTMLResponse:
    """Who may do what, what is shared and masked, and what was done."""
    return HTMLResponse(pages.settings_page(_view(lab, register, keeping, request)))


@router.post("/tokens")
def make_token(
    lab: LabOf,
    register: RegisterOf,
    keeping: KeepingOf,
    request: Request,
    name: Annotated[str, Form()],
    scope: Annotated[Scope, Form()],
    project: Annotated[str, Form()] = "",
    days: Annotated[Literal["", "30", "90", "365"], Form()] = "",
) -> HTMLResponse:
    """Make a token, and show it this once."""
    order = TokenOrder(name=name, scope=scope, project=project.strip() or None, days=int(days) if days else None)
    made = register.make_token(order)
    tell(request, str(made.token))
    page = pages.settings_page(_view(lab, register, keeping, request, made))
    return HTMLResponse(page, headers={"cache-control": "no-store"})


@router.post("/tokens/{id}/revoke")
def revoke_token(register: RegisterOf, request: Request, id: int) -> RedirectResponse:
    """End a token for good."""
    tell(request, str(register.revoke_token(id)))
    return RedirectResponse("/settings#tokens", 303)


@router.post("/shares/{id}/end")
def end_share(register: RegisterOf, request: Request, id: int) -> RedirectResponse:
    """End a share for good."""
    tell(request, str(register.revoke_share(id)))
    return RedirectResponse("/settings#shares", 303)


@router.post("/masking")
def set_masking(
    register: RegisterOf,
    request: Request,
    project: Annotated[str, Form()] = "",
    masked: Annotated[Literal["yes", "no", ""], Form()] = "",
) -> RedirectResponse:
    """Set a rule, or take it away."""
    rule = Masking(project=project or None, masked={"yes": True, "no": False, "": None}[masked])
    register.set_masking(rule)
    tell(request, str(rule))
    return RedirectResponse("/settings#masks", 303)


@router.post("/retention")
def set_retention(
    keeping: KeepingOf,
    request: Request,
    project: Annotated[str, Form()] = "",
    newest: Annotated[int, Form()] = DEFAULT_NEWEST,
    thin: Annotated[int, Form()] = DEFAULT_THIN,
    gib: Annotated[float | None, Form(ge=0, le=1 << 20)] = None,
) -> RedirectResponse:
    """Set the rule of a project, or of the lab; `gib` is the quota, empty for none."""
    quota = None if gib is None else round(gib * GIB)
    rule = Rule(project=project.strip() or None, newest=newest, thin=thin, quota=quota)
    keeping.set_rule(rule)
    tell(request, str(rule))
    return RedirectResponse("/settings#retention", 303)


@router.post("/retention/drop")
def drop_retention(keeping: KeepingOf, request: Request, project: Annotated[str, Form()] = "") -> RedirectResponse:
    """Take the rule of a project away, or the lab's."""
    keeping.drop_rule(project or None)
    tell(request, f"no rule of {project or 'the lab'}")
    return RedirectResponse("/settings#retention", 303)


def _view(
    lab: LocalLab, register: Register, keeping: Keeping, request: Request, made: NewToken | None = None
) -> SettingsView:
    now = datetime.now(UTC)
    return SettingsView(
        who=caller_of(request).name,
        projects=[project.name for project in lab.projects()],
        tokens=[
            TokenRow(
                id=token.id,
                name=token.name,
                scope=token.scope,
                project=token.project or "",
                created=token.created,
                expires=token.expires,
                used=token.used,
                state=_state(token, now, "revoked"),
            )
            for token in register.tokens()
        ],
        shares=[
            ShareRow(
                id=share.id,
                project=share.project,
                address=share.address,
                made_by=share.made_by,
                created=share.created,
                expires=share.expires,
                state=_state(share, now, "ended"),
            )
            for share in register.shares()
        ],
        masks=[MaskRow(project=rule.project or "", masked=bool(rule.masked)) for rule in register.masking()],
        entries=[
            EntryRow(**{name: value for name, value in asdict(entry).items() if name != "id"})
            for entry in register.entries(ENTRIES)
        ],
        rules=[
            RuleRow(project=rule.project or "", newest=rule.newest, thin=rule.thin, quota=rule.quota)
            for rule in keeping.rules()
        ],
        newest=DEFAULT_NEWEST,
        thin=DEFAULT_THIN,
        secret=None if made is None else (made.token.name, made.secret),
    )


def _state(kept: Token | Share, now: datetime, ended: str) -> str:
    if kept.revoked is not None:
        return ended
    return "" if kept.is_good(now) else "expired"
