"""What stays in a lab and what goes: the rules, and the rows and files that are removed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field
from sqlalchemy import Connection, Engine, delete, insert, select

from . import tables as t
from .database import own_files, reading, writing
from .errors import Refused
from .settings import DEFAULT_NEWEST, DEFAULT_THIN

LONGEST_PROJECT = 200
MOST = 2**53 - 1  # what JSON's readers can count


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Which traces stay: of a project or, with None, of every project that has no rule of its own.

    Attributes:
        newest: commits of each project; thin: of the older ones, one in so many.
        quota: bytes of the files of the project, or of the whole lab; None for as many as there are.
    """

    project: str | None = None
    newest: Annotated[int, Field(ge=0, le=MOST)] = DEFAULT_NEWEST
    thin: Annotated[int, Field(ge=1, le=MOST)] = DEFAULT_THIN
    quota: Annotated[int, Field(ge=0, le=MOST)] | None = None

    def __str__(self) -> str:
        whose = "the lab" if self.project is None else f"project {self.project}"
        most = "" if self.quota is None else f", in at most {self.quota:,} bytes"
        return f"traces of {whose} stay at the newest {self.newest:,} commits and at one in {self.thin:,} older{most}"


class Keeping:
    """The rules of one lab, and the removal of what they let go; each call is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def rules(self) -> list[Rule]:
        """The lab's rule, where there is one, then those of projects by name."""
        with reading(self._engine) as connection:
            rows = connection.execute(select(t.retention).order_by(t.retention.c.project)).all()
        return [Rule(project=row.project or None, newest=row.newest, thin=row.thin, quota=row.quota) for row in rows]

    def set_rule(self, rule: Rule) -> None:
        """Set a rule in place of the one that there is; raises Refused."""
        name = _row(rule.project)
        if not (0 <= rule.newest <= MOST and 1 <= rule.thin <= MOST and 0 <= (rule.quota or 0) <= MOST):
            raise Refused(f"{rule}: no such rule can be kept; give newest and quota from 0, thin from 1, up to {MOST}")
        with writing(self._engine) as connection:
            connection.execute(delete(t.retention).where(t.retention.c.project == name))
            connection.execute(
                insert(t.retention).values(project=name, newest=rule.newest, thin=rule.thin, quota=rule.quota)
            )

    def drop_rule(self, project: str | None) -> None:
        """Take a rule away; one that is not there is no error."""
        with writing(self._engine) as connection:
            connection.execute(delete(t.retention).where(t.retention.c.project == _row(project)))

    def remove_trace(self, id: int, delete_file: Callable[[], None]) -> None:
        """Remove a trace, and its run where it had no more; `delete_file` is called where nothing else has its file."""
        with writing(self._engine) as connection:
            own_files(connection)
            query = select(t.upload.c.id, t.upload.c.run_id, t.upload.c.sha256).join(t.trace).where(t.trace.c.id == id)
            found = connection.execute(query).one_or_none()
            if found is None:  # another process was faster
                return
            connection.execute(delete(t.trace).where(t.trace.c.id == id))
            connection.execute(delete(t.upload).where(t.upload.c.id == found.id))
            others = select(t.upload.c.id).where(t.upload.c.run_id == found.run_id)
            connection.execute(delete(t.run).where(t.run.c.id == found.run_id, ~others.exists()))
            if not _is_needed(connection, found.sha256):
                delete_file()

    def needed(self) -> set[str]:
        """The hashes of the files that uploads have, or that wait to be read."""
        with reading(self._engine) as connection:
            waiting = select(t.job.c.sha256).where(t.job.c.finished.is_(None))
            return {*connection.scalars(select(t.upload.c.sha256)), *connection.scalars(waiting)}

    def remove_file(self, sha256: str, delete_file: Callable[[], None]) -> bool:
        """Call `delete_file` where no upload has the file, and none that is just coming; whether it was called."""
        with writing(self._engine) as connection:
            own_files(connection)
            if _is_needed(connection, sha256):
                return False
            delete_file()
        return True


def _row(project: str | None) -> str:
    """What a project is in the table of rules; raises Refused."""
    name = "" if project is None else project.strip()
    if project is not None and (not name or len(name) > LONGEST_PROJECT or not name.isprintable()):
        raise Refused(f"{name[:60]!r} is no name of a project; give 1 to {LONGEST_PROJECT} printable characters")
    return name


def _is_needed(connection: Connection, sha256: str) -> bool:
    waiting = select(t.job.c.id).where(t.job.c.sha256 == sha256, t.job.c.finished.is_(None))
    same = select(t.upload.c.id).where(t.upload.c.sha256 == sha256)
    return any(connection.scalar(query.limit(1)) is not None for query in (same, waiting))
