"""What routes share: the lab, and how refusals are documented."""

from typing import Annotated, Any, TypeAlias

from fastapi import Depends, Request

from ..glances import Glances
from ..lab import LocalLab
from ..schema import Error

Responses: TypeAlias = dict[int | str, dict[str, Any]]

REFUSED: Responses = {422: {"model": Error, "description": "What was sent cannot be taken"}}
NOT_FOUND: Responses = {404: {"model": Error, "description": "The lab does not have it"}}
AMBIGUOUS: Responses = {409: {"model": Error, "description": "More than one thing has that name"}}
BUSY: Responses = {503: {"model": Error, "description": "Busy; `Retry-After` says when to ask again"}}


def _lab(request: Request) -> LocalLab:
    lab: LocalLab = request.app.state.lab
    return lab


LabOf = Annotated[LocalLab, Depends(_lab)]


def _glances(request: Request) -> Glances:
    glances: Glances = request.app.state.glances
    return glances


GlancesOf = Annotated[Glances, Depends(_glances)]
