"""How the allocators work: options, and the environment variable that sets them."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .errors import ArgumentError

VARIABLE = "PERFLAB_ALLOC_CONF"
_INTERVALS = 16  # of sizes, from each power of two to the next: the first begins at 1 MiB, the last has no end
_SPLIT_ABOVE_MB = 20  # smaller segments than these hold blocks that must be split


@dataclass(frozen=True, slots=True)
class AllocatorOptions:
    """Options of the caching allocators, under PyTorch's names.

    - `max_split_size_mb`: cached blocks larger than so many MiB are handed out whole, and only for requests that leave
      less than 20 MiB of them unused. Use it when large blocks end in pieces. None: every block may be split.
    - `roundup_power2_divisions`: sizes are rounded up to the next of so many equal parts of a power of two, so that
      sizes that differ a little use the same blocks. One number for each interval of sizes: up to 2 MiB, up to 4 MiB,
      and so on; 0: to the next 512 bytes.
    - `garbage_collection_threshold`: when more than this share of the memory (of the device, or of the process's
      fraction of it) is reserved, cached blocks that were not used for long go back before more is asked for. 0: none.
    - `expandable_segments`: segments grow in place instead of standing side by side, so that free blocks at their seams
      can join. Use it when sizes change from step to step. Where the device maps no virtual memory it changes nothing.
    """

    max_split_size_mb: int | None = None
    roundup_power2_divisions: tuple[int, ...] = (0,) * _INTERVALS
    garbage_collection_threshold: float = 0.0
    expandable_segments: bool = False


def parse_alloc_conf(text: str, said_in: str = VARIABLE) -> AllocatorOptions:
    """The options that a text like "expandable_segments:True,max_split_size_mb:128" sets; the others stay as they are.

    `roundup_power2_divisions` is one number, or several by size in MiB: "[256:1,512:2,>:4]". Raises ArgumentError for
    a key or a value that is none, naming those that are, and where the text was said.
    """
    options = AllocatorOptions()
    for item in re.split(r",(?![^\[]*\])", text.strip()):
        if not item.strip():
            continue
        key, _, value = (part.strip() for part in item.partition(":"))
        if key not in _PARSERS:
            raise ArgumentError(f"{said_in}: there is no option '{key}': use one of {', '.join(_PARSERS)}")
        parse, allowed = _PARSERS[key]
        try:
            parsed = parse(value)
        except ValueError:
            raise ArgumentError(f"{said_in}: {key} must be {allowed}, not '{value}'") from None
        options = replace(options, **{key: parsed})
    return options


def _split_size(text: str) -> int:
    size = int(text)
    if not _SPLIT_ABOVE_MB < size < 1 << 32:
        raise ValueError
    return size


def _threshold(text: str) -> float:
    share = float(text)
    if not 0 < share < 1:
        raise ValueError
    return share


def _boolean(text: str) -> bool:
    if text not in ("True", "False"):
        raise ValueError
    return text == "True"


def _power_of_two(text: str) -> int:
    n = int(text)
    if n < 1 or n & (n - 1):
        raise ValueError
    return n


def _divisions(text: str) -> tuple[int, ...]:
    if not text.startswith("["):
        return (_power_of_two(text),) * _INTERVALS
    if not text.endswith("]"):
        raise ValueError
    divisions: list[int] = []
    for item in text[1:-1].split(","):
        size, _, parts = item.partition(":")
        end = _INTERVALS if size.strip() == ">" else min(_power_of_two(size).bit_length(), _INTERVALS)
        if end <= len(divisions):
            raise ValueError
        divisions += [_power_of_two(parts)] * (end - len(divisions))
    return tuple(divisions + divisions[-1:] * (_INTERVALS - len(divisions)))


_PARSERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "max_split_size_mb": (_split_size, f"a whole number of MiB above {_SPLIT_ABOVE_MB}"),
    "roundup_power2_divisions": (_divisions, "a power of two, or several by size in MiB as in [256:1,512:2,>:4]"),
    "garbage_collection_threshold": (_threshold, "a number between 0 and 1"),
    "expandable_segments": (_boolean, "True or False"),
}

OPTIONS = parse_alloc_conf(os.environ.get(VARIABLE, ""))  # what this process runs with
