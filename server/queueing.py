"""Uploads to a lab whose traces are read by workers."""

import time
from typing import BinaryIO

from perflab.benchmarks import formats

from .blobs import Blobs
from .errors import Busy, Refused
from .ingest import arrived, ingest_staged
from .schema import Label, Upload
from .store import Store

LONGEST_WAIT_S = 600.0
FIRST_LOOK_S, SLOWEST_LOOK_S = 0.02, 0.5


def upload_queued(store: Store, blobs: Blobs, stream: BinaryIO, label: Label) -> Upload:
    """Take in benchmarks at once; keep a trace, and wait until a worker has read it.

    Raises what `ingest` does, and Busy where it takes too long. The trace is kept then, and read as soon as a worker
    comes to it: whoever sends it again joins the job that there is.
    """
    with arrived(blobs, stream, label) as staged:
        if staged.size == 0 or formats.holds_results(staged.path):
            return ingest_staged(store, blobs, staged, label)
        job = store.jobs.add(staged.sha256, label, lambda: blobs.keep(staged))
    pause = FIRST_LOOK_S
    end = time.monotonic() + LONGEST_WAIT_S
    while (outcome := store.jobs.outcome(job)) is None:
        if time.monotonic() > end:
            raise Busy(
                f"{label.name} is kept and waits to be read; see that a `perflab worker` runs, then send it again"
            )
        time.sleep(pause)
        pause = min(2 * pause, SLOWEST_LOOK_S)
    if outcome.upload is None:
        raise Refused(outcome.error or "")
    return outcome.upload
