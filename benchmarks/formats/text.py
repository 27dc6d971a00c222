"""Text and JSON of benchmark files, with a sentence for each way to be something else."""

import json
import re
from typing import Any

from ..errors import BenchmarkFormatError

SUPPORTED = "give results of pytest-benchmark, google-benchmark, hyperfine, asv, criterion, go test -bench or perflab"


def decoded(content: bytes) -> str:
    """The text; raises BenchmarkFormatError where there is none."""
    try:
        text = content.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise BenchmarkFormatError(f"byte {error.start} is not UTF-8, so this is not JSON; {SUPPORTED}") from None
    if not text:
        raise BenchmarkFormatError("the file is empty; did the benchmark run fail? Run it again and look at its end")
    if text.startswith("<"):
        raise BenchmarkFormatError(
            "this is HTML, perhaps an error or login page; download the file itself and try again"
        )
    return text


def parsed(text: str) -> Any:
    """What the JSON holds; NaN and infinities are let through, since tools write them. Raises BenchmarkFormatError."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if _is_cut(text, error):
            raise BenchmarkFormatError(
                f"the JSON is cut short after {len(text)} characters; copy the whole file"
            ) from None
        raise BenchmarkFormatError(
            f"not JSON ({error.msg} at line {error.lineno}, column {error.colno}); {SUPPORTED}"
        ) from None
    except (ValueError, RecursionError):
        raise BenchmarkFormatError(f"the JSON holds a number too long or is nested too deep; {SUPPORTED}") from None


def _is_cut(text: str, error: json.JSONDecodeError) -> bool:
    """Whether the text could go on: the fault is at its end, in the middle of a string, a word or a number."""
    rest = text[error.pos :]
    word = any(literal.startswith(rest) for literal in ("true", "false", "null", "NaN", "-Infinity"))
    number = re.fullmatch(r"-|\.|\.?\d*[eE][+-]?", rest)
    string = error.msg.startswith("Unterminated string") or ("escape" in error.msg and len(rest) < 6)
    return text[0] in "{[" and (word or number is not None or string)


def refuse_others(document: object) -> None:
    """Raises BenchmarkFormatError that says what a document is, where it is one that people mistake for results."""
    if not isinstance(document, dict):
        return
    if "traceEvents" in document:
        raise BenchmarkFormatError("this is a Chrome trace, not a benchmark file; give it where a trace is asked for")
    if document.get("format") == "perflab.gate":
        raise BenchmarkFormatError(f"this is a gate's report, not what it judged; {SUPPORTED}")
    if any(isinstance(item, dict) and "code" in item and "param_names" in item for item in document.values()):
        raise BenchmarkFormatError(
            "this is asv's index of benchmarks, which holds no results; give the folder that it lies in"
        )
    if {"mean", "median"} <= document.keys() or {"iters", "times"} <= document.keys():
        raise BenchmarkFormatError(
            "this is one file of criterion, which does not name its benchmark; give the folder target/criterion"
        )
