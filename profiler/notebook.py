"""The cell magic `%%profile` of IPython and Jupyter, loaded by `%load_ext perflab.profiler`."""

import io
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .session import profile


def load(shell: Any) -> None:
    """Give the magic to a shell of IPython."""
    from IPython.core.magic_arguments import MagicArgumentParser

    parser = MagicArgumentParser("%%profile", description="Run the cell under perflab's profiler, and show a report.")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the trace to this file, too")
    parser.add_argument("name", nargs="?", help="a variable that gets the profile")

    def run(line: str, cell: str) -> None:
        given = parser.parse_argstring(line)
        with profile(with_stack=find_spec("pyinstrument") is not None, torch="torch" in sys.modules) as prof:
            shell.run_cell(cell)
        if given.name:
            shell.user_ns[given.name] = prof
        if given.output:
            prof.export_chrome_trace(given.output)
        _show(prof)

    run.__doc__ = parser.format_help()
    shell.register_magic_function(run, "cell", "profile")


def _show(prof: profile) -> None:
    """The report: tables in a notebook, text in a terminal."""
    from IPython.display import display
    from rich.console import Console

    from .report.answers import answers
    from .report.markdown import markdown
    from .report.sections import sections
    from .report.terminal import show

    found, text = sections(answers(prof.trace)), io.StringIO()
    show(found, "The cell", Console(file=text, width=100, highlight=False))
    display({"text/plain": text.getvalue(), "text/markdown": markdown(found, "The cell")}, raw=True)
