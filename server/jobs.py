"""Traces that wait for a worker: in the order in which they came, each taken by one worker at a time.

A worker has a job for LEASE and says again and again that it is still at it. Where it does not, since it was killed or
its machine is gone, the job is there to be taken again. To read a file twice does no harm: the rows are made once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Connection, Engine, Row, or_, select, update

from . import tables as t
from .database import reading, share_files, writing
from .rows import find_or_make
from .schema import Label, Upload

LEASE = timedelta(seconds=60)
# A file that ends its worker, such as by its size, would end them all.
MOST_ATTEMPTS = 5
_LABEL = TypeAdapter(Label)
_UPLOAD = TypeAdapter(Upload)


@dataclass(frozen=True, slots=True)
class Job:
    """A kept file to be read; `attempt` counts from 1."""

    id: int
    sha256: str
    label: Label
    attempt: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a job: the upload, or the sentence with which it was refused."""

    upload: Upload | None
    error: str | None


class Jobs:
    """The queue of one lab. Safe to share between threads."""

    def __init__(self, engine: Engine, lease: timedelta = LEASE) -> None:
        self._engine = engine
        self.lease = lease

    def add(self, sha256: str, label: Label, keep: Callable[[], None] = lambda: None) -> int:
        """The id of the job to read a file, which `keep` keeps; one that has ended begins anew."""
        text = _LABEL.dump_json(label).decode()
        with writing(self._engine) as connection:
            share_files(connection)
            facts = {"created": _now(), "attempts": 0}
            id, is_new = find_or_make(connection, t.job, facts, sha256=sha256, label=text)
            if not is_new:
                again = {"finished": None, "upload": None, "error": None, "attempts": 0, "taken_until": None}
                connection.execute(update(t.job).where(t.job.c.id == id, t.job.c.finished.is_not(None)).values(again))
            keep()
        return id

    def take(self) -> Job | None:
        """The oldest job that no living worker has; None where there is none."""
        with writing(self._engine) as connection:
            while (row := _free(connection)) is not None:
                if row.attempts < MOST_ATTEMPTS:
                    self._set(connection, row.id, attempts=row.attempts + 1, taken_until=_now() + self.lease)
                    return Job(row.id, row.sha256, _LABEL.validate_json(row.label), row.attempts + 1)
                sentence = f"reading the file ended its worker {row.attempts} times; record fewer steps a file"
                self._set(connection, row.id, finished=_now(), error=sentence)
        return None

    def renew(self, job: Job) -> None:
        """Say that a worker is still at a job."""
        with writing(self._engine) as connection:
            self._set(connection, job.id, job.attempt, taken_until=_now() + self.lease)

    def give_back(self, job: Job) -> None:
        """Leave a job to be taken again."""
        with writing(self._engine) as connection:
            self._set(connection, job.id, job.attempt, taken_until=None)

    def finish(self, job: Job, upload: Upload | None, error: str | None = None) -> None:
        """Keep what became of a job, unless another worker has taken it since."""
        kept = None if upload is None else _UPLOAD.dump_python(upload, mode="json")
        with writing(self._engine) as connection:
            self._set(connection, job.id, job.attempt, finished=_now(), upload=kept, error=error)

    def outcome(self, id: int) -> Outcome | None:
        """What became of a job; None where it waits or a worker is at it."""
        with reading(self._engine) as connection:
            row = connection.execute(select(t.job).where(t.job.c.id == id)).one()
        if row.finished is None:
            return None
        return Outcome(None if row.upload is None else _UPLOAD.validate_python(row.upload), row.error)

    def _set(self, connection: Connection, id: int, attempt: int | None = None, **values: Any) -> None:
        change = update(t.job).where(t.job.c.id == id, t.job.c.finished.is_(None)).values(values)
        connection.execute(change if attempt is None else change.where(t.job.c.attempts == attempt))


def _free(connection: Connection) -> Row[Any] | None:
    # PostgreSQL passes over the rows that others are just taking; on SQLite one writes at a time.
    query = (
        select(t.job)
        .where(t.job.c.finished.is_(None), or_(t.job.c.taken_until.is_(None), t.job.c.taken_until < _now()))
        .order_by(t.job.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    return connection.execute(query).one_or_none()


def _now() -> datetime:
    return datetime.now(UTC)
