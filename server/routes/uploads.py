"""Taking in files."""

from datetime import datetime
from pathlib import PurePosixPath
from typing import Annotated

from fastapi import APIRouter, File, Form, Request, UploadFile

from ..access.needs import WRITES, tell
from ..ingest import parse_machine
from ..schema import Label, Origin, Upload
from .deps import REFUSED, LabOf

router = APIRouter(tags=["uploads"], dependencies=[WRITES])

Text = Annotated[str | None, Form()]


@router.post("/uploads", responses=REFUSED)
def upload(
    lab: LabOf,
    request: Request,
    file: Annotated[UploadFile, File(description="A Chrome trace (JSON or gzip), or a benchmark file")],
    project: Annotated[str | None, Form(description="Goes before what the file says, as do commit and branch")] = None,
    commit: Annotated[str | None, Form(description="The whole SHA: 40 hex digits")] = None,
    branch: Text = None,
    fallback_project: Annotated[str | None, Form(description="Serves a file that does not say its project")] = None,
    fallback_commit: Text = None,
    fallback_branch: Text = None,
    machine: Annotated[
        str | None,
        Form(description="For a file that does not say: a JSON object with name, cpu, os, python and the number cores"),
    ] = None,
    created: Annotated[datetime | None, Form(description="When it was measured, for a file that does not say")] = None,
    key: Annotated[str | None, Form(description="Uploads of one key, commit and machine are one run")] = None,
) -> Upload:
    """Take in a trace or a benchmark file, whole or not at all; the same file again changes nothing."""
    label = Label(
        name=PurePosixPath(file.filename or "the file").name,
        said=Origin(project=project, commit=commit, branch=branch),
        fallback=Origin(project=fallback_project, commit=fallback_commit, branch=fallback_branch),
        machine=None if machine is None else parse_machine(machine),
        created=created,
        key=key,
    )
    taken = lab.upload_stream(file.file, label)
    tell(request, f"{taken.name} of {taken.project} at {taken.commit[:12]}, run {taken.run}")
    return taken
