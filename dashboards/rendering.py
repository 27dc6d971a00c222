"""Templates made into HTML: the filters and the names that all of them know."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from statistics import median

import plotly.graph_objects as go
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from . import assets, grid, operators, series, sparkline, theme, units
from .reader import READER
from .views import NO_COMMIT

TEMPLATES = Path(__file__).parent / "templates"
# The pages of a project, and where they are.
SECTIONS = {
    "Overview": "/",
    "Benchmarks": "/grid",
    "Series": "/series",
    "Runs": "/runs",
    "Compare": "/compare",
    "Gates": "/gates",
    "SQL": "/sql",
}
# What lists say of a series.
STATES = {
    "worse": "worse",
    "drift": "drifts",
    "better": "better",
    "steady": "steady",
    "stale": "stale",
    "young": "too young",
}


def render(
    template: str, figures: Mapping[str, go.Figure | None] | None = None, project: str = "", **data: object
) -> str:
    """The page that a template makes, with `figures` by the names that it draws them under; `project` is the one that
    its links stay in."""
    drawn = {key: figure for key, figure in (figures or {}).items() if figure is not None}
    return (
        _environment()
        .get_template(template)
        .render(
            figures={key: in_script(figure.to_json(validate=False)) for key, figure in drawn.items()},
            heights={key: figure.layout.height or 0 for key, figure in drawn.items()},
            project=project,
            reader=READER.get(),
            **data,
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        duration=units.duration,
        size=units.size,
        whole=units.whole,
        share=units.share,
        ratio=units.ratio,
        rate=operators.rate,
        signed=units.signed,
        typeset=units.typeset,
        count=_per_step,
        median=median,
        value=series.value,
        percent=series.percent,
        sparkline=sparkline.sparkline,
        cells=grid.cells,
        short=_short,
    )
    templates = {name: theme.template(palette) for name, palette in (("light", theme.LIGHT), ("dark", theme.DARK))}
    environment.globals.update(
        css_variables=Markup(theme.css_variables()),
        plot_templates=in_script(json.dumps({name: made.to_plotly_json() for name, made in templates.items()})),
        none_mark=units.NONE,
        no_commit=NO_COMMIT,
        states=STATES,
        sections=SECTIONS,
        asset=assets.address,
        inline=lambda name: Markup(assets.assets()[name].read_text(encoding="utf-8")),
        modules_of=lambda folder: [name for name in assets.assets() if name.startswith(f"{folder}/")],
    )
    return environment


def _short(commit: str) -> str:
    return "no commit" if commit == NO_COMMIT else commit[:8]


def _per_step(count: float) -> str:
    return units.whole(count) if float(count).is_integer() else f"{count:,.1f}"


def in_script(text: str) -> Markup:
    """JSON as it may stand in a script element."""
    # `</script>` and `<!--` end a script element wherever they stand, so no `<` may reach it.
    return Markup(text.replace("<", "\\u003c"))
