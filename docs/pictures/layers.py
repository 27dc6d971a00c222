"""Writes layers.svg, the README's picture of the packages. All text stands on boxes of their own colour, so that the
picture reads on a light page and on a dark one.

python docs/pictures/layers.py
"""

from dataclasses import dataclass
from html import escape
from pathlib import Path

PICTURE = Path(__file__).with_name("layers.svg")
WIDTH, MARGIN, GAP, PAD = 880, 2, 10, 14
PART_HEIGHT, TITLE_HEIGHT = 46, 34
SANS = "-apple-system, 'Segoe UI', Roboto, Ubuntu, 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif"
MONO = "ui-monospace, 'SF Mono', Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace"


@dataclass(frozen=True)
class Package:
    """A box: the package's name, what it is for, and its parts in rows of (name, what it does)."""

    name: str
    purpose: str
    fill: str
    edge: str
    rows: tuple[tuple[tuple[str, str], ...], ...]

    @property
    def height(self) -> int:
        return TITLE_HEIGHT + len(self.rows) * (PART_HEIGHT + GAP) + PAD - GAP


SERVER = Package(
    "perflab.server",
    "keeps runs per commit and answers",
    "#e4edf9",
    "#4a86cf",
    (
        (
            ("lab", "SQLite and a folder of files"),
            ("HTTP API", "described by OpenAPI"),
            ("commands", "upload, compare, gate, serve, demo"),
        ),
    ),
)
DASHBOARDS = Package(
    "perflab.dashboards",
    "draws",
    "#e0f3f0",
    "#1d998b",
    ((("pages", "runs, trace, compare, series"), ("figures", "timeline, memory, GIL")),),
)
BENCHMARKS = Package(
    "perflab.benchmarks",
    "judges",
    "#f3e9f8",
    "#9a5fc0",
    ((("results", "pytest-benchmark's JSON"), ("gate", "rank test, report, exit code")),),
)
PROFILER = Package(
    "perflab.profiler",
    "records training loops, reads traces and answers questions about them",
    "#fdf0dc",
    "#d8902a",
    (
        (
            ("profile", "schedule, record_function"),
            ("Trace", "plain columns in the middle"),
            ("Chrome JSON", "writes and reads"),
            ("analysis", "ops, memory, GIL, difference"),
        ),
    ),
)
RUNTIME = Package(
    "perflab.runtime",
    "eager tensors with autograd; records every op, kernel and allocation while it runs",
    "#fbe6dd",
    "#d8602a",
    (
        (
            ("ops", "each declared once"),
            ("nn, optim", "models and their updates"),
            ("types", "Tensor, Function"),
        ),
        (
            ("dispatcher", "picks the kernel"),
            ("kernels", "C++, OpenBLAS, NumPy"),
            ("engine", "backward without the GIL"),
            ("allocator", "keeps freed blocks"),
            ("recorder", "64 bytes an event"),
        ),
    ),
)
ROWS = ((SERVER,), (DASHBOARDS, BENCHMARKS), (PROFILER,), (RUNTIME,))


def part(x: float, y: float, width: float, edge: str, name: str, does: str) -> list[str]:
    middle = x + width / 2
    return [
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{PART_HEIGHT}" rx="4" fill="#fff" stroke="{edge}"'
        ' stroke-opacity="0.45"/>',
        f'<text x="{middle:g}" y="{y + 19:g}" class="part">{escape(name)}</text>',
        f'<text x="{middle:g}" y="{y + 36:g}" class="does">{escape(does)}</text>',
    ]


def package(box: Package, x: float, y: float, width: float) -> list[str]:
    lines = [
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{box.height}" rx="8" fill="{box.fill}"'
        f' stroke="{box.edge}" stroke-width="1.5"/>',
        f'<text x="{x + PAD:g}" y="{y + 22:g}" class="name">{escape(box.name)}'
        f'<tspan class="purpose" dx="10">{escape(box.purpose)}</tspan></text>',
    ]
    for number, row in enumerate(box.rows):
        each = (width - 2 * PAD - GAP * (len(row) - 1)) / len(row)
        top = y + TITLE_HEIGHT + number * (PART_HEIGHT + GAP)
        for place, (name, does) in enumerate(row):
            lines += part(x + PAD + place * (each + GAP), top, each, box.edge, name, does)
    return lines


def svg() -> str:
    """The picture: a package stands on those that it imports."""
    lines: list[str] = []
    y = float(MARGIN)
    for row in ROWS:
        each = (WIDTH - 2 * MARGIN - GAP * (len(row) - 1)) / len(row)
        for place, box in enumerate(row):
            lines += package(box, MARGIN + place * (each + GAP), y, each)
        y += row[0].height + GAP
    height = y - GAP + MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}"'
            f' height="{height:g}" role="img" aria-labelledby="title">',
            '<title id="title">The packages of perflab, each on those that it imports</title>',
            "<style>",
            f"text {{ font: 12px {SANS}; fill: #1b2026; }}",
            f".name {{ font: 600 14px {MONO}; }}",
            f".purpose {{ font: 13px {SANS}; fill: #46505a; }}",
            ".part { font-weight: 600; font-size: 13px; text-anchor: middle; }",
            ".does { fill: #46505a; font-size: 11.5px; text-anchor: middle; }",
            "</style>",
            *lines,
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(svg(), encoding="utf-8")
