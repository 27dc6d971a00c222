"""Reads the traces that wait, one after the other, and makes room by the lab's rules."""

import contextlib
import logging
import time
from collections.abc import Iterator
from threading import Event, Thread

from .blobs import Blobs
from .errors import LabRefused, NotFound, Refused
from .ingest import ingest
from .jobs import Job, Jobs
from .retention import tidy
from .store import Store

PAUSE_S = 0.2
RETRY_S = 5.0
TIDY_EVERY_S = 3600.0


class Worker:
    """One at a time; several, of any machines that reach the lab's database and files, share the work."""

    def __init__(self, store: Store, blobs: Blobs, jobs: Jobs) -> None:
        self._store = store
        self._blobs = blobs
        self._jobs = jobs

    def work(self, stop: Event) -> None:
        """Read what waits until `stop` is set; a job that was begun is ended first."""
        tidied = time.monotonic()
        while not stop.is_set():
            try:
                job = self._jobs.take()
                if job is not None:
                    self._do(job)
                elif time.monotonic() - tidied >= TIDY_EVERY_S:
                    self._tidy()
                    tidied = time.monotonic()
            except LabRefused as error:  # the database or the files cannot be reached just now
                logging.getLogger(__name__).warning("%s", error)
                stop.wait(RETRY_S)
                continue
            if job is None:
                stop.wait(PAUSE_S)

    def _tidy(self) -> None:
        removed = tidy(self._store, self._blobs)
        if removed.traces or removed.files:
            self._store.register.record("a worker", "make room", str(removed))

    def _do(self, job: Job) -> None:
        with self._renewed(job):
            try:
                with self._blobs.open(job.sha256) as file:
                    upload = ingest(self._store, self._blobs, file, job.label)
            except (Refused, NotFound) as error:
                self._jobs.finish(job, None, str(error))
            except LabRefused:
                self._jobs.give_back(job)
                raise
            except Exception as error:  # whatever a file does to its reader, the next one is read
                logging.getLogger(__name__).exception("job %d", job.id)
                sentence = f"reading {job.label.name} failed ({type(error).__name__}); the worker's log says why"
                self._jobs.finish(job, None, sentence)
            else:
                self._jobs.finish(job, upload)

    @contextlib.contextmanager
    def _renewed(self, job: Job) -> Iterator[None]:
        done = Event()

        def renew() -> None:
            while not done.wait(self._jobs.lease.total_seconds() / 4):
                with contextlib.suppress(LabRefused):
                    self._jobs.renew(job)

        thread = Thread(target=renew, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
