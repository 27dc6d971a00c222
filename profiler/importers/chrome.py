"""Chrome JSON, as Perfetto, torch.profiler, VizTracer, XProf and many others write it.

The core parses it piece by piece into columns. Of a file that is cut short or damaged, the events before that place
are read. A JSON document without a list of events is handed back: another importer may know it.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from ..errors import TraceFormatError
from ..trace import Json, Trace
from . import lenient
from .chrome_events import EventReader
from .compressed import PIECE
from .findings import Findings
from .launches import tied
from .spill import Spill

if TYPE_CHECKING:
    from perflab.runtime._core import ChromeParser

TRUNCATED = "truncated"  # in the metadata of a trace whose file was not whole
_DEEPEST = 200  # lists and objects in each other, as in what an event holds
_LAYOUT = ("traceEvents", "schemaVersion", "displayTimeUnit")


def read_json(
    pieces: Iterable[bytes], name: str, findings: Findings, others: Collection[set[str]] = ()
) -> Trace | dict[str, Json]:
    """The trace in a JSON text, or the whole document where it is another one; raises TraceFormatError.

    `others` are keys by which other documents are known that are cut short: what is whole in them is handed back.
    """
    with Spill() as spill:
        return _read(pieces, name, findings, others, spill)


def _read(
    pieces: Iterable[bytes], name: str, findings: Findings, others: Collection[set[str]], spill: Spill
) -> Trace | dict[str, Json]:
    from perflab.runtime._core import ChromeParser  # who only analyses traces does without

    parser, reader = ChromeParser(), EventReader(findings, spill)
    excerpt = _parse(pieces, parser, reader, findings)
    is_damaged = excerpt is not None
    document = _document(parser.metadata, findings)
    if not parser.had_events and parser.done:
        return document
    if is_damaged and not parser.events:
        raise TraceFormatError(
            f"{name}: this is not valid JSON from byte {parser.consumed:,} on ({excerpt}); export the trace again"
        )
    if is_damaged:
        findings.add("damaged", at=f"{parser.consumed:,}", excerpt=excerpt)
    elif not parser.done:
        findings.add("cut", at=f"{parser.consumed + len(parser.rest):,}")
        if not parser.had_events and (cut := _cut_document(parser, others)) is not None:
            return cut
    findings.add("trailing", parser.trailing)
    findings.add("odd-commas", parser.odd_commas)
    findings.add("not-a-number", parser.not_numbers)
    findings.add("unknown-event", parser.strangers)
    reader.add_parsed(parser)
    if not reader.known and parser.done and parser.events:
        raise TraceFormatError(
            f"{name}: JSON, but not a Chrome trace: none of its {parser.events:,} items is an event with a known 'ph';"
            " export it as Chrome JSON from the tool that wrote it"
        )
    metadata = {key: value for key, value in document.items() if key not in _LAYOUT}
    for key in [key for key, value in metadata.items() if lenient.depth(value) > _DEEPEST]:
        findings.add("not-json", examples=[f"{ascii(key)[:60]}: nested too deeply"])
        del metadata[key]
    if is_damaged or not parser.done:
        metadata[TRUNCATED] = True
    return tied(reader.build(metadata))


def _parse(pieces: Iterable[bytes], parser: "ChromeParser", reader: EventReader, findings: Findings) -> str | None:
    """Feeds the parser; the beginning of what is not JSON, where the text has such a place."""
    size = 0
    for data in _growing(pieces, parser):
        size += len(data)
        reader.relieve(parser)
        try:
            parser.feed(data)
        except ValueError:
            _take_others(parser, reader, findings)
            return ascii(data[max(parser.consumed - (size - len(data)), 0) :][:30].decode("utf-8", "replace"))
        _take_others(parser, reader, findings)
    return None


def _growing(pieces: Iterable[bytes], parser: "ChromeParser") -> Iterator[bytes]:
    """Pieces of the text without a byte order mark, joined where an element is long: it is parsed anew with each."""
    held: list[bytes] = []
    fed = waiting = 0
    for piece in pieces:
        held.append(piece if fed or held else piece.removeprefix(b"\xef\xbb\xbf"))
        waiting += len(piece)
        if waiting >= max(PIECE, fed - parser.consumed):
            fed += waiting
            yield b"".join(held)
            held, waiting = [], 0
    if held:
        yield b"".join(held)


def _take_others(parser: "ChromeParser", reader: EventReader, findings: Findings) -> None:
    text, places, times = parser.take_others()
    if not places:
        return
    try:
        events = lenient.loads(b"[" + text + b"]")
    except ValueError:
        events = []
        for one in lenient.objects(text):
            try:
                events.append(lenient.loads(one))
            except ValueError:
                findings.add("not-json", examples=[ascii(one[:60].decode("utf-8", "replace"))])
                events.append({})
    reader.add(events, places, times)


def _cut_document(parser: "ChromeParser", others: Collection[set[str]]) -> dict[str, Json] | None:
    """What is whole in a document that is cut short, where it is one of `others`."""
    try:
        document: dict[str, Json] = lenient.closed(b"{" + parser.metadata + parser.rest)
    except ValueError:
        return None
    return document if any(keys <= document.keys() for keys in others) else None


def _document(metadata: bytes, findings: Findings) -> dict[str, Json]:
    try:
        document: dict[str, Json] = lenient.loads(b"{" + metadata + b"}")
    except ValueError:
        findings.add("not-json", examples=[ascii(metadata[:60].decode("utf-8", "replace"))])
        return {}
    return document
