"""Whether a file holds results of benchmarks, told by its beginning."""

import gzip
import re
import zipfile
import zlib
from pathlib import Path

from . import criterion, go_bench

_HEAD = 1 << 16
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_KEY = re.compile(r'"(machine_info|commit_info|benchmarks|results|commit_hash|param_names|perflab\.run|perflab\.gate)"')
_MEMBER = re.compile(r"(^|/)(new/estimates|benchmarks)\.json$")  # of criterion and asv


def holds_results(path: Path) -> bool:
    """Whether the file is benchmark results rather than a trace; the files of an archive are judged by their names."""
    try:
        with open(path, "rb") as file:
            start = file.read(4)
        if start == _ZIP:
            with zipfile.ZipFile(path) as archive:
                return any(map(_MEMBER.search, archive.namelist()))
        with gzip.open(path) if start.startswith(_GZIP) else open(path, "rb") as file:
            text = file.read(_HEAD).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, ValueError, NotImplementedError):
        return False
    if text.startswith("{") and '"traceEvents"' not in text and _KEY.search(text):
        return True
    whole = text[: text.rfind("\n") + 1] if len(text) > _HEAD // 2 else text  # a line that is cut is none
    return any(format.knows(whole) for format in (go_bench, criterion))
