"""Who this process is among those of a run."""

import os
import uuid

from .trace import Json

_OWN_RUN = uuid.uuid4().hex[:12]  # forked children have it too


def run_id() -> str:
    """The same for all processes of a run, on whatever host: PERFLAB_RUN_ID, or what torchrun or Slurm say.

    Where nobody says it, one made up for this process and its forked children.
    """
    for name in ("PERFLAB_RUN_ID", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID"):
        told = os.environ.get(name, "")
        if told and told != "none":  # torchrun's word for nothing
            return told
    return _OWN_RUN


def rank() -> int | None:
    """RANK, where it is a number."""
    told = os.environ.get("RANK", "")
    return int(told) if told.isdecimal() else None


def identity() -> dict[str, Json]:
    """For a trace's metadata: `runId`, and `distributedInfo` as torch.profiler writes it where there are ranks."""
    size = os.environ.get("WORLD_SIZE", "")
    told: dict[str, Json] = {"runId": run_id()}
    if (number := rank()) is not None:
        told["distributedInfo"] = {"rank": number} | ({"world_size": int(size)} if size.isdecimal() else {})
    return told
