"""orjson's two functions, by the standard library's json."""

import json
from json import JSONDecodeError, loads
from typing import Any

__all__ = ["JSONDecodeError", "dumps", "loads"]


def dumps(value: Any) -> bytes:
    """The value as JSON in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
