"""What the doctor found in a trace's file, with links to where the timeline shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from .views import Health

MEANING = {
    "healthy": "Every number of this trace is what it seems.",
    "usable with care": "Some numbers are not what they seem; below stands which.",
    "incomplete": "The file does not hold all that happened: counts and totals are too small.",
}
NOT_EXAMINED = "Nothing is known of the file's oddities."
_SHARE = 50  # of the trace, that a link shows around a moment
_LEAST_NS = 2_000


@dataclass(frozen=True)
class Oddity:
    """A finding; each example is a text and the address of the timeline around it, None where it has no place there.
    `more`: how many there are beside the examples."""

    severity: str
    what: str
    advice: str
    examples: Sequence[tuple[str, str | None]]
    more: int


def meaning(health: Health | None) -> str:
    """What the verdict means, in a sentence."""
    return MEANING.get(health.verdict, "") if health is not None else NOT_EXAMINED


def oddities(trace: int, health: Health | None, span: tuple[int, int]) -> list[Oddity]:
    """The findings of trace `trace`, which spans these ns, the worst first."""
    return [
        Oddity(
            found.severity,
            found.what,
            found.advice,
            [(text, _address(trace, moment, span)) for text, moment in found.examples],
            max(found.count - len(found.examples), 0) if found.examples else 0,
        )
        for found in (health.findings if health is not None else ())
    ]


def _address(trace: int, moment: int | None, span: tuple[int, int]) -> str | None:
    """The timeline around a moment; its addresses count from where the trace begins."""
    begin, end = span
    if moment is None or not begin <= moment <= end:
        return None
    around = max((end - begin) // _SHARE, _LEAST_NS)
    start = max(moment - begin - around // 2, 0)
    return f"/traces/{trace}?{urlencode({'start': start, 'end': start + around})}#timeline"
