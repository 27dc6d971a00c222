"""One look for every page and figure: colours, fonts, plotly templates; light and dark."""

import colorsys
import zlib
from dataclasses import asdict, dataclass
from functools import lru_cache

import plotly.graph_objects as go

from perflab.profiler.analysis.blocks import CATEGORIES as MEMORY_CATEGORIES
from perflab.profiler.analysis.gil import HELD

SANS = '-apple-system, "Segoe UI", Roboto, Ubuntu, Cantarell, "Helvetica Neue", Arial, "Liberation Sans", sans-serif'
MONO = 'ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace'


@dataclass(frozen=True)
class Palette:
    """The colours of one mode; each becomes a CSS variable of the same name."""

    page: str
    panel: str
    raised: str
    ink: str
    muted: str
    line: str
    grid: str
    accent: str
    accent_soft: str
    worse: str
    worse_soft: str
    better: str
    better_soft: str


LIGHT = Palette(
    page="#f5f6f8",
    panel="#ffffff",
    raised="#f8f9fb",
    ink="#1b2026",
    muted="#5a6570",
    line="#dde2e7",
    grid="#ebeef1",
    accent="#1f62b8",
    accent_soft="#e6effa",
    worse="#b8430f",
    worse_soft="#fbeae1",
    better="#0b7268",
    better_soft="#e0f3f0",
)
DARK = Palette(
    page="#0e1216",
    panel="#151a20",
    raised="#1a2027",
    ink="#e2e6ea",
    muted="#98a4b0",
    line="#2a323b",
    grid="#222931",
    accent="#7fb2f4",
    accent_soft="#1b2b41",
    worse="#f2935f",
    worse_soft="#3a2318",
    better="#55c7b5",
    better_soft="#12302c",
)

# Middle tones: readable on the light and on the dark panel, so figures need no second set.
WORSE = "#d8602a"
BETTER = "#1d998b"
NEUTRAL = "#8793a0"
ALLOCATED = "#4a86cf"
RESERVED = "#9aa5b1"
BAND = "rgba(135,147,160,0.16)"
HIDDEN, EXPOSED = "#b5a13c", "#cf4b5c"  # communication of ranks, behind computation and alone


@dataclass(frozen=True)
class Category:
    """How slices of one kind look: what a legend calls them, and their colour."""

    word: str
    colour: str


_OPS = Category("ops", "#4a86cf")
_KERNELS = Category("kernels", "#e0912f")
_ANNOTATIONS = Category("steps and annotations", "#8793a0")
_DEVICE_CALLS = Category("device calls", "#3f9d96")
_COPIES = Category("copies", "#b5a13c")
_OTHER = Category("other", "#a17f93")

# By the category of a slice: ours, then the names that torch.profiler and the Kineto of before use for the same.
CATEGORIES = {
    "cpu_op": _OPS,
    "kernel": _KERNELS,
    "autograd": Category("autograd", "#9673c9"),
    "user_annotation": _ANNOTATIONS,
    "gil": Category("GIL", "#cf4b5c"),
    "python_function": Category("Python", "#57a05a"),
    "gc": Category("garbage collection", "#b08968"),
    "module": Category("modules", "#c0709c"),
    "Operator": _OPS,
    "Kernel": _KERNELS,
    "gpu_user_annotation": _ANNOTATIONS,
    "Trace": _ANNOTATIONS,
    "cuda_runtime": _DEVICE_CALLS,
    "cuda_driver": _DEVICE_CALLS,
    "Runtime": _DEVICE_CALLS,
    "gpu_memcpy": _COPIES,
    "gpu_memset": _COPIES,
    "Memcpy": _COPIES,
    "Memset": _COPIES,
}
# By the parts of a step (profiler.analysis.parts).
PARTS = {
    "forward": "#4a86cf",
    "backward": "#9673c9",
    "optimizer": "#57a05a",
    "data_wait": "#e0912f",
    "gil_wait": "#cf4b5c",
    "gc": "#b08968",
    "sync": "#3f9d96",
    "idle": "#aab4be",
}
VERDICTS = {"regression": WORSE, "improvement": BETTER}

# Distinguishes tracks inside one figure (Okabe and Ito, toned down).
SEQUENCE = ("#4a86cf", "#e0912f", "#1d998b", "#9673c9", "#cf4b5c", "#57a05a", "#b08968", "#8793a0")

# By what memory was for.
MEMORY = {name: SEQUENCE[place % len(SEQUENCE)] for place, name in enumerate(MEMORY_CATEGORIES)}

_SHADES = (-0.09, -0.045, 0.0, 0.045, 0.09)


def category(name: str) -> Category:
    """How slices of a category look, the same on every page."""
    return CATEGORIES.get(name, _OTHER)


@lru_cache(1 << 16)
def slice_colour(kind: Category, name: str) -> str:
    """The category's colour, a little lighter or darker by name, so that neighbours are told apart."""
    base = kind.colour
    red, green, blue = (int(base[at : at + 2], 16) / 255 for at in (1, 3, 5))
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    # Holding the GIL is pale, waiting for it is not.
    lightness += 0.22 if name.startswith(HELD) else _SHADES[zlib.crc32(name.encode()) % len(_SHADES)]
    return "#" + "".join(f"{round(channel * 255):02x}" for channel in colorsys.hls_to_rgb(hue, lightness, saturation))


def css_variables() -> str:
    """CSS that defines every colour and font as a variable, for light and for dark."""

    def block(palette: Palette) -> str:
        return "".join(f"--{name.replace('_', '-')}:{value};" for name, value in asdict(palette).items())

    fonts = f"--sans:{SANS};--mono:{MONO};--base-side:{NEUTRAL};--head-side:{ALLOCATED};"
    return (
        f":root{{color-scheme:light dark;{fonts}{block(LIGHT)}}}"
        f"@media (prefers-color-scheme:dark){{:root{{{block(DARK)}}}}}"
    )


def template(palette: Palette) -> go.layout.Template:
    """The plotly template of one mode; pages apply it in the browser, where the reader's mode is known."""
    axis = {
        "gridcolor": palette.grid,
        "linecolor": palette.line,
        "zerolinecolor": palette.line,
        "tickcolor": palette.line,
        "zerolinewidth": 1,
        "ticks": "",
        "automargin": True,
        "title": {"standoff": 8, "font": {"size": 12, "color": palette.muted}},
        "tickfont": {"size": 11, "color": palette.muted},
    }
    return go.layout.Template(
        layout={
            "font": {"family": SANS, "size": 12, "color": palette.ink},
            "paper_bgcolor": palette.panel,
            "plot_bgcolor": palette.panel,
            "colorway": list(SEQUENCE),
            "margin": {"l": 8, "r": 16, "t": 12, "b": 8},
            "xaxis": axis,
            "yaxis": axis,
            "hoverlabel": {
                "bgcolor": palette.raised,
                "bordercolor": palette.line,
                "align": "left",
                "font": {"family": SANS, "size": 12, "color": palette.ink},
            },
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": 11}},
            "annotationdefaults": {
                "font": {"size": 12, "color": palette.ink},
                "arrowcolor": palette.muted,
                "bgcolor": palette.panel,
                "bordercolor": palette.line,
                "borderpad": 3,
            },
            "shapedefaults": {"line": {"color": palette.line, "width": 1}},
            "separators": ".,",
        }
    )


def figure(**layout: object) -> go.Figure:
    """An empty figure with no template of its own and the given layout."""
    return go.Figure(layout={"template": "none", "autosize": True, **layout})
