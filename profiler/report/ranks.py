"""What a report says of the ranks of a run."""

from ..analysis.ranks import ClockFit, Ranks
from .section import FEW, Section, Table, share, short, time

_SKEWED = 5  # collectives that are listed by themselves


def ranks(it: Ranks | None) -> Section | None:
    """Each rank, each kind of collective, and the collectives whose ranks arrived furthest apart."""
    if it is None:
        return None
    sentences = [_clock(it.clock)] if it.clock is not None else []
    late = it.straggler
    if late is not None:
        sentences.append(
            f"The others waited longest for rank {late.rank}: {time(late.delayed_ns)} together, at {late.last} of"
            f" {len(it.skews)} collectives."
        )
    uses = tuple(
        (
            f"rank {use.rank}",
            time(use.span_ns),
            share(use.compute_ns, use.span_ns),
            share(use.communication_ns, use.span_ns),
            share(use.communication_ns - use.exposed_ns, use.communication_ns),
            time(use.waited_ns),
            time(use.delayed_ns),
        )
        for use in it.uses
    )
    tables = [Table(("rank", "span", "computes", "communicates", "hidden", "waited", "delayed"), uses)]
    if it.kinds:
        kinds = tuple(
            (
                short(f"{kind.kind} {kind.group}".strip()),
                str(kind.count),
                time(kind.skew_ns),
                time(kind.most_skew_ns),
                time(kind.waited_ns),
                f"rank {kind.last}",
            )
            for kind in it.kinds[:FEW]
        )
        tables.append(Table(("collective", "calls", "skew (median)", "most", "waited", "most often last"), kinds))
        worst = sorted(it.skews, key=lambda skew: -skew.skew_ns)[:_SKEWED]
        begin = min(skew.start_ns for skew in it.skews)
        skews = tuple(
            (
                short(skew.kind),
                time(skew.start_ns - begin, signed=True),
                time(skew.skew_ns),
                time(skew.transfer_ns),
                f"rank {skew.last}",
            )
            for skew in worst
        )
        tables.append(Table(("furthest apart", "begins", "skew", "then took", "last"), skews))
    return Section("Ranks", tuple(sentences), tuple(tables))


def _clock(fit: ClockFit) -> str:
    within, below = time(fit.uncertainty_ns), ": skews below that mean nothing."
    if fit.method == "collectives":
        moved = sum(move != 0 for move in fit.moved_ns.values())
        return (
            f"{moved} rank{' was' if moved == 1 else 's were'} moved so that {fit.collectives} collectives end"
            f" together, to within {within}{below}"
        )
    if fit.method == "agreed":
        return f"The ranks' clocks agree to within {within}, by {fit.collectives} collectives{below}"
    return "Nothing tells how far the ranks' clocks differ: times of one rank hold, those between ranks may not."
