"""A folder as files that a lab takes: its results one by one, or its traces, one for each rank, as one archive."""

import tarfile
from pathlib import Path

from perflab.benchmarks import formats

_OF_CRITERION = "estimates.json"


def files_of(folder: Path, made: Path) -> list[Path]:
    """What to upload for a folder, as files in the folder `made`: a run of ours for each run of its benchmarks, else an
    archive of all it holds. The same folder gives the same bytes.

    Raises BenchmarkFormatError where results cannot be read.
    """
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    name = folder.resolve().name
    if any(path.name == _OF_CRITERION or formats.holds_results(path) for path in found):
        files = []
        for number, run in enumerate(formats.read_all(folder), 1):
            files.append(made / f"{name}-{number}.json")
            files[-1].write_text(run.to_json(), encoding="utf-8")
        return files
    archive = made / f"{name}.tar"
    with tarfile.open(archive, "w") as tar:
        for path in found:
            tar.add(path, path.relative_to(folder).as_posix(), filter=_plain)
    return [archive]


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """The entry without what differs from copy to copy, and names nobody."""
    entry.mtime = entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry
