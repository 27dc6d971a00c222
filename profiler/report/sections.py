"""Answers in words: sections with sentences and tables, which every kind of text shows alike."""

from collections.abc import Sequence
from statistics import median

from ..analysis.advice import DEVICE_BOUND
from ..analysis.averages import OpAverage
from ..analysis.blocks import EARLIER
from ..analysis.gil import SAMPLED
from ..analysis.lacks import lacks
from ..analysis.outliers import OutlierStep
from ..analysis.parts import WORDS, part_shares
from ..quantity import percent, plain
from ..torch_clock import UNCERTAINTY
from .answers import Answers
from .process import garbage, gil, python, resident, tasks
from .ranks import ranks
from .section import FEW, WIDEST, Section, Table, share, short, size, sparkline, time

_EARLIER = "allocated before the trace"


def sections(it: Answers) -> list[Section]:
    """What there is to say; a section of which the trace knows nothing is left out."""
    found = [
        _overview(it), _diff(it), _advice(it), ranks(it.ranks), _steps(it), _ops(it), _modules(it), python(it),
        tasks(it), _devices(it), _dispatch(it), _critical(it), _memory(it), gil(it), garbage(it), _roofline(it),
    ]  # fmt: skip
    return [section for section in found if section is not None]


def _overview(it: Answers) -> Section:
    summary = it.summary
    ops = [f"{plain(summary.ops)} ops"] if summary.ops else []
    steps = [f"{summary.steps} steps of {time(summary.step_ns)} (median)"] if summary.steps else []
    sentences = [f"{', '.join([f'{time(summary.span_ns)} in all', *ops, *steps])}."]
    if ops and not steps:
        sentences.append(
            "It has no steps: call prof.step() after each, or name their function to `perflab run --step`."
        )
    if it.recording_share:
        torch = ", and torch's recorder more" if UNCERTAINTY in it.notes else ""
        sentences.append(f"Recording took {it.recording_share:.1%} of the steps' time{torch}.")
    sentences += lacks(it.notes)
    if "reason" in it.notes:
        sentences.append(f"Why it was saved: {it.notes['reason']}.")
    if it.notes.get("gil") == SAMPLED:
        sentences.append("The GIL could not be traced: only the runtime's own acquisitions and samples are known.")
    return Section("Overview", tuple(sentences))


def _diff(it: Answers) -> Section | None:
    if it.diff is None:
        return None
    change = it.diff
    worth = [line for line in change.bill if line.ns or line.count or line.bytes][: FEW * 2]
    rows = tuple(
        (
            short(line.name),
            time(line.ns, signed=True),
            f"{plain(line.base_count)} → {plain(line.head_count)}" if line.count and line.owner == "op" else "",
            size(line.bytes, signed=True) if line.bytes else "",
            time(line.gil_wait_ns, signed=True) if line.gil_wait_ns else "",
            f"{line.kernels:+g}" if line.kernels else "",
        )
        for line in worth
    )
    rest = change.step_ns - sum(line.ns for line in worth)
    if rest and len(change.bill) > len(worth):
        rows += (("all others", time(rest, signed=True), "", "", "", ""),)
    ratio = f" ({percent(change.head_step_ns / change.base_step_ns)})" if change.base_step_ns else ""
    without = f", without {change.left_out} that stand far out" if change.left_out else ""
    head = f"A step takes {time(change.base_step_ns)} → {time(change.head_step_ns)}{ratio}{without}."
    return Section("Since the base", (head, bill_sentence(it)), (Table(_BILL, rows),))


_BILL = ("a step", "time", "calls", "allocated", "GIL wait", "kernels")


def bill_sentence(it: Answers) -> str:
    """The largest lines of the bill: `+3.1 ms: +2.4 ms data wait, +700 us 48 more copy_.`"""
    assert it.diff is not None
    parts = []
    for line in it.diff.bill[:4]:
        if abs(line.ns) >= 0.02 * abs(it.diff.step_ns) and line.ns:
            more = f"{plain(abs(line.count))} {'more' if line.count > 0 else 'fewer'} " if round(line.count) else ""
            parts.append(f"{time(line.ns, signed=True)} {more}{short(line.name)}")
    return f"{time(it.diff.step_ns, signed=True)}: {', '.join(parts)}." if parts else "No line of the bill stands out."


def _advice(it: Answers) -> Section | None:
    if not it.advice:
        return None
    sentences, each = [], " a step" if it.summary.steps else ""
    for number, advice in enumerate(it.advice, 1):
        saving = size(advice.saving_bytes) if advice.saving_bytes else time(advice.saving_ns)
        sentences.append(
            f"{number}. {advice.title}: at most {saving}{each}. {advice.evidence[:1].upper()}{advice.evidence[1:]}."
            + (f" Look at step {advice.step}." if advice.step is not None else "")
            + f" Try: {advice.action}."
        )
    title = {1: "One thing", 2: "Two things"}.get(len(it.advice), "Three things")
    return Section(f"{title} to do", tuple(sentences))


def _steps(it: Answers) -> Section | None:
    if not it.steps:
        return None
    durations = [step.duration for step in it.steps]
    rows = [
        (WORDS[part.part], time(part.mean_ns), f"{part.share:.1%}", time(part.least_ns), time(part.most_ns))
        for part in part_shares(it.steps)
    ]
    sentences = [
        f"{time(min(durations))} to {time(max(durations))}, median {time(median(durations))}:"
        f" {sparkline(durations[:WIDEST])}",
        *(_outlier(step) for step in it.outliers[:3]),
    ]
    table = Table(("where a step's time goes", "mean", "share", "least", "most"), tuple(rows))
    return Section("Steps", tuple(sentences), (table,))


def _outlier(step: OutlierStep) -> str:
    parts = sorted(step.parts.items(), key=lambda pair: -pair[1])
    more = ", ".join(f"{time(ns, signed=True)} {WORDS[part]}" for part, ns in parts[:2] if ns > 0)
    ops = ", ".join(f"{time(op.ns, signed=True)} {short(op.name)}" for op in step.ops[:2])
    return (
        f"Step {step.number} stands out: {time(step.duration)} in place of {time(step.usual_ns)}: {more}"
        + (f"; of ops {ops}" if ops else "")
        + "."
    )


def _ops(it: Answers) -> Section | None:
    return Section("Ops", (), (_averages("op", it.ops, it.ops_ns),)) if it.ops else None


def _modules(it: Answers) -> Section | None:
    known = [row for row in it.modules if row.name != "(none)"]
    if not known:
        return None
    return Section("Modules, with their backward pass", (), (_averages("module", it.modules[:FEW], it.ops_ns),))


def _averages(what: str, rows: Sequence[OpAverage], whole: int) -> Table:
    columns: list[tuple[str, list[str], bool]] = [
        ("self", [time(row.self_ns) for row in rows], True),
        ("share", [share(row.self_ns, whole) for row in rows], True),
        ("total", [time(row.total_ns) for row in rows], True),
        ("calls", [plain(row.count) for row in rows], True),
        ("kernels", [time(row.kernel_ns) for row in rows], any(row.kernel_ns for row in rows)),
        ("GIL wait", [time(row.gil_wait_ns) for row in rows], any(row.gil_wait_ns for row in rows)),
        ("allocated", [size(row.allocated_bytes) for row in rows], any(row.allocated_bytes for row in rows)),
        ("GFLOP/s", [_rate(row.flops_per_s) for row in rows], any(row.flops for row in rows)),
        ("GB/s", [_rate(row.bytes_per_s) for row in rows], any(row.moved_bytes for row in rows)),
    ]
    shown = [(heading, cells) for heading, cells, is_known in columns if is_known]
    return Table(
        (what, *(heading for heading, _ in shown)),
        tuple(
            (short(row.name), *cells) for row, cells in zip(rows, zip(*(c for _, c in shown), strict=True), strict=True)
        ),
    )


def _rate(per_second: float) -> str:
    return f"{per_second / 1e9:,.1f}" if per_second else ""


def _devices(it: Answers) -> Section | None:
    if not it.devices:
        return None
    uses = Table(
        ("device", "span", "busy", "computing", "communication", "exposed", "copies", "exposed", "idle"),
        tuple(
            (
                use.name, time(use.span_ns), share(use.busy_ns, use.span_ns), time(use.compute_ns),
                time(use.communication_ns), time(use.exposed_communication_ns), time(use.copy_ns),
                time(use.exposed_copy_ns), time(use.idle_ns),
            )
            for use in it.devices
        ),
    )  # fmt: skip
    idle = Table(
        ("idle before", "because of", "time", "gaps", "device"),
        tuple(
            (short(cause.owner), _CAUSES[cause.cause], time(cause.ns), plain(cause.count), use.name)
            for use in it.devices
            for cause in use.idle[:FEW]
        ),
    )
    first = it.devices[0]
    busy = first.busy_ns / first.span_ns if first.span_ns else 0.0
    pace = "it sets the pace" if busy > DEVICE_BOUND else "something else sets the pace"
    head = f"Device {first.name} is busy for {busy:.0%} of its time: {pace}."
    return Section("Devices", (head,), (uses, idle) if idle.rows else (uses,))


_CAUSES = {
    "sync": "a wait of the host",
    "data_wait": "data",
    "gil_wait": "the GIL",
    "gc": "garbage collection",
    "host": "a late launch",
    "queue": "the device itself",
    "unknown": "unknown",
}


def _dispatch(it: Answers) -> Section | None:
    found = it.dispatch
    if found is None or it.devices:
        return None
    head = f"Kernels take {time(found.kernel_ns)}; ops take {time(found.dispatch_ns)} beside them."
    rows = tuple(
        (short(op.name), time(op.dispatch_ns), time(op.dispatch_ns / op.count), plain(op.count), time(op.kernel_ns))
        for op in found.ops[:FEW]
    )
    return Section("Dispatch", (head,), (Table(("op", "beside kernels", "a call", "calls", "kernels"), rows),))


def _critical(it: Answers) -> Section | None:
    if it.critical_tracks < 2 or not it.ops:  # a thread that nobody woke is its own path: the ops tell it
        return None
    rows = tuple(
        (short(owner.name), owner.where.replace("_", " "), time(owner.ns), share(owner.ns, it.critical_ns))
        for owner in it.critical_path[:FEW]
    )
    return Section("Critical path", (), (Table(("what the end waited for", "where", "time", "share"), rows),))


def _memory(it: Answers) -> Section | None:
    use, of_process = it.memory, resident(it)
    if use is None:
        return Section("Memory", (of_process,)) if of_process else None
    peak = use.peak
    sentences = [f"{size(peak.bytes)} at the peak: {sparkline(use.curve)}"]
    if use.fragmentation:
        sentences.append(f"Of what was reserved then, {use.fragmentation:.0%} was not in use.")
    if use.growth.leak_bytes:
        owners = ", ".join(f"{size(one.bytes)} {one.op} in {one.module}" for one in use.growth.survivors[:3])
        sentences.append(f"Each step leaves {size(use.growth.leak_bytes)} behind: {owners}.")
    sentences += [of_process] if of_process else []
    tables = tuple(
        Table(
            (f"at the peak, by {what}", "bytes", "share"),
            tuple(
                (short(_EARLIER if name == EARLIER else name), size(held), share(held, peak.bytes))
                for name, held in list(shares.items())[:FEW]
            ),
        )
        for what, shares in (("category", peak.by_category), ("module", peak.by_module), ("op", peak.by_op))
        if len(shares) > 1
    )
    return Section("Memory", tuple(sentences), tables)


def _roofline(it: Answers) -> Section | None:
    if not it.roofline or it.ceilings is None:
        return None
    roof = it.ceilings
    head = f"Against {roof.flops_per_s / 1e9:,.1f} GFLOP/s and {roof.bytes_per_s / 1e9:,.1f} GB/s of {roof.machine}."
    other = "A trace that another machine recorded is not to be held against these: name its own with --ceilings."
    rows = tuple(
        (
            short(op.name), time(op.ns), plain(op.count), f"{op.intensity:.2g}", op.bound,
            f"{op.of_ceiling:.0%}", time(op.saving_ns),
        )
        for op in it.roofline[:FEW]
    )  # fmt: skip
    return Section(
        "Roofline",
        (head, other),
        (Table(("op", "time", "calls", "FLOPs a byte", "bound by", "of it", "to win"), rows),),
    )
