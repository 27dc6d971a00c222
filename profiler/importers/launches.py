"""Ties what ran on a device to the call that launched it: by correlation id first, by the file's flows second."""

from dataclasses import replace

import numpy as np

from ..trace import Flows, Int64s, Trace

DEVICE = ("kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset")  # the capital ones are of early Kineto
_LAUNCHES = ("cuda_runtime", "cuda_driver", "hip_runtime", "xpu_runtime", "privateuse1_runtime", "Runtime")
_KEY = "correlation"
RANK = ": "  # in the pid of a joined trace, behind its rank
_NAME = "ac2g"  # as torch.profiler calls these flows


def tied(trace: Trace) -> Trace:
    """The trace with one arrow into each slice of a device whose launch shares its correlation id."""
    if _KEY not in trace.slice_args:
        return trace
    correlation = trace.slice_args[_KEY].dense(len(trace.slices))
    launches, launched = (of_category(trace, names) & (correlation > 0) for names in (_LAUNCHES, DEVICE))
    sources, targets = np.flatnonzero(launches), np.flatnonzero(launched)
    if not len(sources) or not len(targets):
        return trace
    rows = np.concatenate((sources, targets))
    known, compact = np.unique(correlation[rows], return_inverse=True)
    key = compact + len(known) * _ranks(trace)[trace.slices.track[rows]]
    source_key, target_key = key[: len(sources)], key[len(sources) :]
    del correlation, rows, compact  # of a long trace these are large
    order = np.argsort(source_key, kind="stable")
    sources, source_key = sources[order], source_key[order]
    place = np.searchsorted(source_key, target_key, side="right") - 1
    found = (place >= 0) & (source_key[place] == target_key)
    sources, targets = sources[place[found]], targets[found]
    strings = trace.strings if _NAME in trace.strings else [*trace.strings, _NAME]
    name = np.full(len(sources), strings.index(_NAME), dtype=np.int32)
    flows = trace.flows
    kept = ~np.isin(flows.target, targets) | ~launched[flows.target]
    joined = Flows(
        np.concatenate((flows.name[kept], name)),
        np.concatenate((flows.source[kept], sources)),
        np.concatenate((flows.target[kept], targets)),
    )
    order = np.lexsort((joined.target, joined.source))
    ordered = Flows(joined.name[order], joined.source[order], joined.target[order])
    return replace(trace, strings=strings, flows=ordered)


def _ranks(trace: Trace) -> Int64s:
    """For each track a number of its rank, where several files were joined: their ids are the same."""
    ranks: dict[str, int] = {}
    told = (str(track.pid).partition(RANK)[0] if RANK in str(track.pid) else "" for track in trace.tracks)
    return np.array([ranks.setdefault(rank, len(ranks)) for rank in told], dtype=np.int64)


def unlinked(trace: Trace) -> Int64s:
    """Rows of slices of a device that no arrow leads to and that no other slice encloses."""
    lonely = of_category(trace, DEVICE) & (trace.slices.parent < 0)
    lonely[trace.flows.target] = False
    return np.flatnonzero(lonely)


def of_category(trace: Trace, names: tuple[str, ...]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which slices are of one of these categories."""
    return np.isin(trace.slices.category, [number for number, text in enumerate(trace.strings) if text in names])
