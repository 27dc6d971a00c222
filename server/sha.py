"""Commit identifiers: whole SHAs are stored, prefixes are asked for."""

import re

from .errors import Refused

_HEX = re.compile(r"[0-9a-f]*")
WHOLE = 40
SHORTEST = 7


def whole_sha(text: str) -> str:
    """The SHA in lower case; raises Refused unless it is 40 hex digits."""
    sha = text.strip().lower()
    if len(sha) != WHOLE or not _HEX.fullmatch(sha):
        raise Refused(f"commit {_shown(text)} is no whole SHA; give the 40 hex digits that `git rev-parse` prints")
    return sha


def sha_prefix(text: str) -> str:
    """The beginning of a SHA in lower case; raises Refused unless it is 7 to 40 hex digits."""
    sha = text.strip().lower()
    if not SHORTEST <= len(sha) <= WHOLE or not _HEX.fullmatch(sha):
        raise Refused(f"commit {_shown(text)} is no SHA; give at least the first {SHORTEST} of its 40 hex digits")
    return sha


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
