"""A lab behind a running server.

with Client("http://127.0.0.1:8765") as lab:
    for run in lab.runs("training", limit=10):
        print(run.commit, run.results)
"""

import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeVar

import httpx
from pydantic import TypeAdapter, ValidationError

from perflab.benchmarks.gate import GateOptions, GateReport
from perflab.profiler import importers
from perflab.profiler.trace import Trace as FullTrace

from .errors import (
    Ambiguous,
    Busy,
    Forbidden,
    LabError,
    NotFound,
    Refused,
    SignInNeeded,
    TooMany,
    Unreachable,
)
from .ingest import machine_json
from .lab import DEFAULTS, Progress, open_upload, silent
from .schema import (
    Answer,
    CommitComparison,
    CommitFacts,
    Error,
    Judgement,
    JudgementDetail,
    Label,
    NewFacts,
    NewJudgement,
    Project,
    ProjectBenchmark,
    Run,
    RunDetail,
    Series,
    Trace,
    Upload,
)
from .settings import TOKEN

T = TypeVar("T")
NEW_JUDGEMENT = TypeAdapter(NewJudgement)
NEW_FACTS = TypeAdapter(NewFacts)
ERRORS: dict[int, type[LabError]] = {
    401: SignInNeeded,
    403: Forbidden,
    404: NotFound,
    409: Ambiguous,
    422: Refused,
    429: TooMany,
    503: Busy,
}
# A server reads a large trace before it answers.
TIMEOUT = httpx.Timeout(10, read=600, write=600)
TRIES = 6
LONGEST_WAIT_S = 30.0


class Client:
    """The same lab as LocalLab, asked over HTTP; raises what LocalLab raises, and Unreachable.

    Answers are the dataclasses of schema.py, errors carry the server's sentence. Where the server is busy (503) or has
    been asked too often (429), it is asked again after the time that it names, a few times.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`token` is for servers that ask for one, by default that of PERFLAB_TOKEN.

        `transport` replaces the network and `sleep` the clock, for tests.
        """
        self._url = url.rstrip("/")
        self._sleep = sleep
        token = token or os.environ.get(TOKEN) or None
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self._client = httpx.Client(timeout=TIMEOUT, transport=transport, headers=headers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def upload(self, path: Path, label: Label, progress: Progress = silent) -> Upload:
        fields = {
            "project": label.said.project,
            "commit": label.said.commit,
            "branch": label.said.branch,
            "fallback_project": label.fallback.project,
            "fallback_commit": label.fallback.commit,
            "fallback_branch": label.fallback.branch,
            "machine": None if label.machine is None else machine_json(label.machine),
            "created": None if label.created is None else label.created.astimezone(UTC).isoformat(),
            "key": label.key,
        }
        with open_upload(path, progress) as file:
            response = self._send(
                "POST",
                "uploads",
                data={name: value for name, value in fields.items() if value is not None},
                files={"file": (label.name, file, "application/octet-stream")},
            )
        return self._decode(Upload, response)

    def projects(self) -> list[Project]:
        return self._get(list[Project], "projects")

    def runs(
        self, project: str | None = None, commit: str | None = None, branch: str | None = None, limit: int = 100
    ) -> list[Run]:
        return self._get(list[Run], "runs", project=project, commit=commit, branch=branch, limit=limit)

    def run(self, id: int) -> RunDetail:
        return self._get(RunDetail, f"runs/{id}")

    def trace(self, id: int) -> Trace:
        return self._get(Trace, f"traces/{id}")

    def trace_file(self, id: int) -> BinaryIO:
        return self._file(f"traces/{id}/file")

    def _file(self, route: str) -> BinaryIO:
        file = tempfile.TemporaryFile()
        try:
            with self._client.stream("GET", f"{self._url}/api/v1/{route}") as response:
                if response.is_error:
                    response.read()
                    raise self._error(response)
                for chunk in response.iter_bytes():
                    file.write(chunk)
        except httpx.HTTPError as error:
            file.close()
            raise self._unreachable(error) from error
        except LabError:
            file.close()
            raise
        file.seek(0)
        return file

    def read_trace(self, id: int) -> FullTrace:
        with self._file(f"traces/{id}/repaired") as file:
            return importers.read(file).trace

    def benchmarks(self, project: str | None = None) -> list[ProjectBenchmark]:
        return self._get(list[ProjectBenchmark], "benchmarks", project=project)

    def series(
        self, project: str, benchmark: str | None = None, machine: str | None = None, params: str | None = None
    ) -> list[Series]:
        return self._get(list[Series], "series", project=project, benchmark=benchmark, machine=machine, params=params)

    def compare(
        self, base: str, head: str, project: str | None = None, options: GateOptions = DEFAULTS
    ) -> CommitComparison:
        return self._get(
            CommitComparison,
            "compare",
            base=base,
            head=head,
            project=project,
            alpha=options.alpha,
            min_effect=options.min_effect,
            renamed=json.dumps(dict(options.renamed)) if options.renamed else None,
        )

    def describe(self, project: str, facts: Sequence[CommitFacts]) -> int:
        new = NEW_FACTS.dump_python(NewFacts(project=project, commits=list(facts)), mode="json")
        return self._decode(int, self._send("PUT", "commits", json=new))

    def commits(self, project: str) -> list[CommitFacts]:
        return self._get(list[CommitFacts], "commits", project=project)

    def keep_judgement(self, project: str, report: GateReport) -> Judgement:
        new = NEW_JUDGEMENT.dump_python(NewJudgement(project=project, report=report), mode="json")
        return self._decode(Judgement, self._send("POST", "judgements", json=new))

    def judgements(self, project: str | None = None, limit: int = 100) -> list[Judgement]:
        return self._get(list[Judgement], "judgements", project=project, limit=limit)

    def judgement(self, id: int) -> JudgementDetail:
        return self._get(JudgementDetail, f"judgements/{id}")

    def ask(
        self, query: str, project: str | None = None, commits: str | None = None, trace: int | None = None
    ) -> Answer:
        question = {"query": query, "project": project, "commits": commits, "trace": trace}
        return self._decode(Answer, self._send("POST", "sql", json=question))

    def close(self) -> None:
        self._client.close()

    def _get(self, kind: type[T], route: str, **query: str | float | None) -> T:
        asked = {name: value for name, value in query.items() if value is not None}
        return self._decode(kind, self._send("GET", route, params=asked))

    def _send(self, method: str, route: str, **content: Any) -> httpx.Response:
        for left in reversed(range(TRIES)):
            try:
                response = self._client.request(method, f"{self._url}/api/v1/{route}", **content)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise self._unreachable(error) from error
            wait = _wait_s(response)
            if wait is None or not left:
                break
            self._sleep(wait)
        if response.is_error:
            raise self._error(response)
        return response

    def _decode(self, kind: type[T], response: httpx.Response) -> T:
        try:
            return TypeAdapter(kind).validate_json(response.content)
        except ValidationError as error:
            raise self._stranger(response) from error

    def _error(self, response: httpx.Response) -> LabError:
        try:
            sentence = TypeAdapter(Error).validate_json(response.content).error
        except ValidationError:
            return self._stranger(response)
        return ERRORS.get(response.status_code, LabError)(sentence)

    def _stranger(self, response: httpx.Response) -> Unreachable:
        return Unreachable(
            f"what answers at {self._url} is no perflab server of this version (HTTP {response.status_code}); "
            "look at the address given with --server"
        )

    def _unreachable(self, error: Exception) -> Unreachable:
        return Unreachable(f"no server answers at {self._url} ({error}); start one with `perflab serve`, or use --lab")


def _wait_s(response: httpx.Response) -> float | None:
    """After how many seconds the same can be asked again; None where that is of no use."""
    if response.status_code not in (429, 503):
        return None
    named = response.headers.get("retry-after", "")
    wait = float(named) if named.isdecimal() else 1.0
    return wait if wait <= LONGEST_WAIT_S else None
