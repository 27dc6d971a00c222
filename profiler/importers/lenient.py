"""JSON as tracers write it: orjson's, or, where that refuses, what was meant."""

import json
import re
from collections.abc import Iterator

import orjson

from ..trace import Json

_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|[-+]?\b(?:NaN|nan|Infinity|infinity|inf|Inf)\b|,(?=\s*[}\]])', re.DOTALL
)  # strings, words for what is no number, commas before a closing bracket
_ESCAPE = re.compile(r'\\(u[0-9a-fA-F]{4}|["\\/bfnrt])|\\')
_LONG = re.compile(rb"\d{20}")  # perhaps an integer of more than 64 bits, which orjson reads as a float
_MARK = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[{}\[\],]', re.DOTALL)  # strings, of which the last may be cut, and marks
_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)


def loads(data: bytes) -> Json:
    """The value that the text is meant to be; raises ValueError where nobody can say.

    NaN and infinities become null, raw control bytes stay, bytes that are no UTF-8 become U+FFFD, escapes that JSON
    does not know are taken for the text that they are, and commas before a closing bracket are left out.
    """
    try:
        return json.loads(data) if _LONG.search(data) else orjson.loads(data)
    except (ValueError, RecursionError):
        text = _TOKEN.sub(_mended, data.decode("utf-8", "replace"))
    try:
        return json.loads(text, strict=False, parse_constant=lambda word: None)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _mended(token: re.Match[str]) -> str:
    text = token[0]
    if text.startswith('"'):
        return _ESCAPE.sub(lambda escape: escape[0] if escape[1] else r"\\", text)
    return "" if text == "," else "null"


def closed(data: bytes) -> Json:
    """The value of a text that ends anywhere: what is whole in it; raises ValueError."""
    closing, end = bytearray(), 0
    for token in _MARK.finditer(data):
        mark = token[0]
        if mark.startswith(b'"'):
            continue
        end = token.start() if mark == b"," else token.end()
        if mark in b"{[":
            closing += b"}" if mark == b"{" else b"]"
        elif mark in b"}]":
            del closing[-1:]
    return loads(data[:end] + closing[::-1])


def depth(value: Json) -> int:
    """How many lists and objects stand in each other, at most."""
    level, found = [value], 0
    while level := [item for item in level if isinstance(item, list | dict)]:
        found += 1
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
    return found


def objects(data: bytes) -> Iterator[bytes]:
    """The texts of objects that stand one behind the other, with commas between them."""
    depth = begin = 0
    for bracket in _BRACKET.finditer(data):
        if bracket[0] in b"{[":
            if not depth:
                begin = bracket.start()
            depth += 1
        elif bracket[0] in b"}]":
            depth -= 1
            if not depth:
                yield data[begin : bracket.end()]
