"""What routes share: the lab as their caller may see it, and how refusals are documented."""

from typing import Annotated, Any, TypeAlias

from fastapi import Depends, Request

from ..access.limits import Limits
from ..access.masked import SharedLab
from ..access.narrowed import NarrowedGlances, NarrowedLab
from ..access.needs import caller_of
from ..access.register import Register
from ..glances import Glances
from ..keeping import Keeping
from ..lab import LocalLab
from ..schema import Error

Responses: TypeAlias = dict[int | str, dict[str, Any]]

REFUSED: Responses = {422: {"model": Error, "description": "What was sent cannot be taken"}}
NOT_FOUND: Responses = {404: {"model": Error, "description": "The lab does not have it"}}
AMBIGUOUS: Responses = {409: {"model": Error, "description": "More than one thing has that name"}}
BUSY: Responses = {503: {"model": Error, "description": "Busy; `Retry-After` says when to ask again"}}
# What the gate before the routes answers.
STRANGERS: Responses = {
    401: {"model": Error, "description": "The lab asks for a token, or does not know this one"},
    403: {"model": Error, "description": "The token does not allow it"},
    429: {"model": Error, "description": "Too many requests; `Retry-After` says when to ask again"},
}


# These are asynchronous, though they wait for nothing: FastAPI calls others in a thread, each in turn.
async def _lab(request: Request) -> LocalLab:
    lab: LocalLab = request.app.state.lab
    caller = caller_of(request)
    if caller.shared:
        assert caller.project is not None
        return SharedLab(request.app.state.masked_lab, caller.project)
    return lab if caller.project is None else NarrowedLab(lab, caller.project)


async def _register(request: Request) -> Register:
    register: Register = request.app.state.register
    return register


async def _limits(request: Request) -> Limits:
    limits: Limits = request.app.state.limits
    return limits


async def _keeping(request: Request) -> Keeping:
    keeping: Keeping = request.app.state.keeping
    return keeping


LabOf = Annotated[LocalLab, Depends(_lab)]
RegisterOf = Annotated[Register, Depends(_register)]
KeepingOf = Annotated[Keeping, Depends(_keeping)]
LimitsOf = Annotated[Limits, Depends(_limits)]


async def _glances(request: Request) -> Glances:
    glances: Glances = request.app.state.glances
    project = caller_of(request).project
    return glances if project is None else NarrowedGlances(glances, project)


GlancesOf = Annotated[Glances, Depends(_glances)]
