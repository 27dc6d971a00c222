"""What a reader or the doctor found in a file, and what each kind of it means for the numbers."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["note", "warning", "error"]

EXAMPLES = 3
_LONGEST = 300  # characters of an example: a name may have millions
Example: TypeAlias = tuple[str, int | None]  # what it is, and its moment in ns where it has one


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of oddity in a file.

    A `note` changes no number, a `warning` some numbers, and after an `error` the file does not hold all that happened.
    """

    kind: str
    severity: Severity
    count: int
    what: str  # a sentence: what is there
    advice: str  # what it means for the numbers, and what to do
    examples: tuple[str, ...] = ()
    moments: tuple[int | None, ...] = ()  # where each example is on the trace's timeline, in ns


# By kind: severity, what is there (with its count; {s}, {has}, {is} and {was} follow it), meaning and advice.
KINDS: dict[str, tuple[Severity, str, str]] = {
    "cut": (
        "error",
        "The file ends at byte {at}, in the middle of the data.",
        "Everything after that is missing, so counts and totals are too small. Copy or record the trace again.",
    ),
    "compressed-cut": (
        "error",
        "The compressed data ends at byte {at}, before its end.",
        "Everything after that is missing, so counts and totals are too small. Copy the file again.",
    ),
    "archive-cut": (
        "error",
        "The {archive} archive ends at byte {at}, before its end.",
        "What it held after that is missing, so counts and totals may be too small. Copy the file again.",
    ),
    "compressed-damaged": (
        "error",
        "The compressed data is damaged near byte {at} ({why}).",
        "What was unpacked until there is read, the rest is missing. Two processes may have written the same file, or a"
        " copy failed: copy or record it again.",
    ),
    "damaged": (
        "error",
        "From byte {at} on this is not JSON: {excerpt}.",
        "The events before it are read, the rest is missing. Export the trace again.",
    ),
    "dropped": (
        "error",
        "{tool} says that it dropped events: {why}.",
        "Counts and totals are too small, and slices may lack what they enclose. Record fewer steps, or give the tool a"
        " larger buffer.",
    ),
    "empty": (
        "error",
        "The file holds no slice, no instant and no counter.",
        "There is nothing to read. Record at least one step, and end the recording before the program ends.",
    ),
    "trailing": (
        "warning",
        "{count} byte{s} follow the end of the trace.",
        "They are left out. If another trace was appended, take the files apart.",
    ),
    "unfinished": (
        "warning",
        "{count} slice{s} {has} no end.",
        "Each is shown up to the last event and marked `unfinished`: its time is the longest it can have been.",
    ),
    "stray-end": (
        "warning",
        "{count} end{s} {has} no begin.",
        "They are left out: what they end began before the recording, or its begin was lost.",
    ),
    "other-clock": (
        "warning",
        "{count} time{s} {is} of a clock that nothing ties to the others.",
        "They stand as if it were the same clock: where on the timeline is a guess, how long they took is not.",
    ),
    "packet-damaged": (
        "error",
        "{count} packet{s} {is} damaged.",
        "What they hold is missing, so counts and totals may be too small. Copy or record the trace again.",
    ),
    "table-damaged": (
        "error",
        "{count} table{s} of the database {is} damaged.",
        "Their rows before the damage are read, the rest is missing. Export the file again.",
    ),
    "packets-end": (
        "error",
        "From byte {at} on there are no packets: {excerpt}.",
        "The packets before it are read, the rest is missing. Copy or record the trace again.",
    ),
    "no-duration": (
        "warning",
        "{count} slice{s} {has} no duration.",
        "Each counts as a call of 0 ns, so totals of its name are too small.",
    ),
    "negative-duration": (
        "warning",
        "{count} slice{s} {has} a negative duration.",
        "Each counts as a call of 0 ns. The clock of the tracer went backwards, so times near these may be wrong too.",
    ),
    "no-time": (
        "warning",
        "{count} event{s} {has} no time that can be read.",
        "They are left out.",
    ),
    "unit": (
        "warning",
        "The unit of the profile is {unit}, which is no time.",
        "One of it is shown as one nanosecond: shares are right, times mean nothing.",
    ),
    "sums": (
        "warning",
        "The file holds sums by call stack, not what happened when.",
        "Slices stand one behind the other, children inside their callers. Totals are right, moments mean nothing.",
    ),
    "overlap": (
        "warning",
        "{count} slice{s} cross{es} others of the same thread.",
        "They are kept on lanes beside it. Time in which both ran counts for both, so self times add up to more than"
        " the clock.",
    ),
    "duplicates": (
        "warning",
        "{count} slice{s} {is} there twice: same name, thread, start and duration.",
        "They count twice, so counts and totals of these names are too large. Were two files merged?",
    ),
    "clock-jump": (
        "warning",
        "Nothing is recorded for {gap}, {share} of the whole span.",
        "Some times come from another clock, or the recording paused: the span of the trace and what is shown of its"
        " timeline are misleading, durations are not.",
    ),
    "unlinked-kernels": (
        "warning",
        "{count} kernel{s} {has} no launch in the file.",
        "Their time counts for no op. Record the CPU side too (ProfilerActivity.CPU), from before the first launch.",
    ),
    "clocks-unknown": (
        "warning",
        "Nothing tells how far the clocks of {count} ranks differ.",
        "Moments of different ranks can be compared only as far as the clocks of their machines agree. Record a few"
        " collectives of all ranks: they end at one moment.",
    ),
    "skipped": (
        "warning",
        "{count} file{s} beside the traces {is} none.",
        "They are left out.",
    ),
    "same-rank": (
        "warning",
        "{count} files say that they are of the same rank as another.",
        "All files are numbered anew, in the order of their names. Was one given twice, or are they of several runs?",
    ),
    "several-ranks": (
        "warning",
        "The file holds {count} ranks.",
        "Totals are sums over all of them. Look at one process at a time.",
    ),
    "not-json": (
        "warning",
        "{count} value{s} or event{s} {is} not JSON inside.",
        "They are left out.",
    ),
    "joined": (
        "note",
        "{count} files of one run were joined; they begin within {spread} of each other.",
        "Totals are sums over all ranks.",
    ),
    "clocks-aligned": (
        "note",
        "The clock{s} of {count} rank{s} {was} off; {collectives} collectives that end together put them right, to"
        " within {within}.",
        "Moments of different ranks can be compared as far as that.",
    ),
    "clocks-agree": (
        "note",
        "{count} collective{s} end{verb} within {within} on all ranks: their clocks agree.",
        "Moments of different ranks can be compared as far as that.",
    ),
    "straddle": (
        "note",
        "{count} step{s} or annotation{s} begin{verb} in one slice of the thread and end{verb} in another.",
        "They stand on a lane of their own beside the thread. Their times are right.",
    ),
    "zero-duration": (
        "note",
        "{count} slice{s} took 0 ns.",
        "They were shorter than the tracer's clock can tell: they are counted, and their time is lost.",
    ),
    "before-zero": (
        "note",
        "{count} slice{s} begin{verb} before the zero of the clock.",
        "Their moments are negative. Durations are right.",
    ),
    "unsorted": (
        "note",
        "{count} slice{s} stand{verb} behind a later one.",
        "Nothing is lost: the trace is sorted as it is read.",
    ),
    "lone-flow-start": (
        "note",
        "{count} flow{s} {has} a start and no end.",
        "No arrow is drawn for them. What they lead to was not recorded.",
    ),
    "lone-flow-end": (
        "note",
        "{count} flow{s} {has} an end and no start.",
        "No arrow is drawn for them. What they come from was not recorded.",
    ),
    "unbound-flow": (
        "note",
        "{count} end{s} of flows lie{verb} in no slice.",
        "No arrow is drawn there.",
    ),
    "unknown-event": (
        "note",
        "{count} item{s} of the list {is} no event of the format.",
        "They are left out.",
    ),
    "other-packets": (
        "note",
        "{count} packet{s} hold{verb} what is no track event.",
        "They are left out: Perfetto's own page shows them.",
    ),
    "lossy-names": (
        "note",
        "{count} text{s} {has} bytes that are not UTF-8.",
        "Each such byte is shown as \ufffd; different names may look alike.",
    ),
    "raw-text": (
        "note",
        "{count} text{s} {has} raw control bytes or escapes that JSON does not know.",
        "They are read as they were meant.",
    ),
    "not-a-number": (
        "note",
        "{count} value{s} {is} NaN or infinite.",
        "JSON has no word for these: they are taken for null.",
    ),
    "no-value": (
        "note",
        "{count} value{s} of counters {is} no number.",
        "They are left out.",
    ),
    "odd-commas": (
        "note",
        "{count} comma{s} between events {is} missing or too many.",
        "Nothing is lost.",
    ),
    "masked": (
        "note",
        "{count} text{s} named a home folder, a user, a host or a secret.",
        "They are masked. The file itself is as it was.",
    ),
}


class Findings:
    """Collects what is found while a file is read."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[int, list[Example], dict[str, object]]] = {}

    def add(self, kind: str, count: int = 1, examples: Iterable[str | Example] = (), **facts: object) -> None:
        """Count `count` more of a kind; the first examples and facts are kept. An example may come with its moment."""
        if not count:
            return
        before, kept, said = self._found.get(kind, (0, [], {}))
        few = zip(examples, range(EXAMPLES - len(kept)), strict=False)
        for example, _ in few:
            text, moment = (example, None) if isinstance(example, str) else example
            kept.append((text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}\u2026", moment))
        self._found[kind] = (before + count, kept, said or facts)

    def forget_moments(self) -> None:
        """Leave out where the examples so far are: the trace got another clock."""
        for _, examples, _ in self._found.values():
            examples[:] = [(text, None) for text, _ in examples]

    def listed(self) -> tuple[Finding, ...]:
        """Everything found, the worst first."""
        found = []
        for kind, (severity, what, advice) in KINDS.items():
            if kind in self._found:
                count, examples, facts = self._found[kind]
                words = {"count": f"{count:,}", **_follow(count), **facts}
                texts, moments = zip(*examples, strict=True) if examples else ((), ())
                found.append(Finding(kind, severity, count, what.format(**words), advice, texts, moments))
        return worst_first(found)


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors, then warnings, then notes."""
    return tuple(sorted(findings, key=lambda finding: ("error", "warning", "note").index(finding.severity)))


def _follow(count: int) -> dict[str, str]:
    one = count == 1
    return {
        "s": "" if one else "s",
        "es": "es" if one else "",
        "verb": "s" if one else "",
        "has": "has" if one else "have",
        "is": "is" if one else "are",
        "was": "was" if one else "were",
    }
