"""The `perflab` command itself; its sub-commands are tested where they live."""

import argparse
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from perflab.profiler import cli
from perflab.profiler.errors import TraceFormatError


class Told(Exception):
    """An error that a command declares."""


class Echo:
    help = "say what was given"
    errors = (Told,)

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("word")

    def run(self, arguments: argparse.Namespace) -> int:
        failures = {
            "told": Told("it is so; do this"),
            "trace": TraceFormatError("a.json: no trace"),
            "bug": KeyError("bug"),
            "interrupt": KeyboardInterrupt(),
        }
        if arguments.word in failures:
            raise failures[arguments.word]
        print(arguments.word)
        return 7


@pytest.fixture(autouse=True)
def commands(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("echo", f"{__name__}:Echo", cli.GROUP),
        EntryPoint("broken", "perflab.no_such_module:Broken", cli.GROUP),
    ]
    monkeypatch.setattr(cli, "entry_points", lambda group: points)


def test_only_the_called_command_is_imported(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["echo", "hello"]) == 7
    assert capsys.readouterr().out == "hello\n"
    with pytest.raises(ModuleNotFoundError):
        cli.main(["broken"])


@pytest.mark.parametrize(("word", "sentence"), [("told", "it is so; do this"), ("trace", "a.json: no trace")])
def test_an_expected_error_is_one_sentence(capsys: pytest.CaptureFixture[str], word: str, sentence: str) -> None:
    assert cli.main(["echo", word]) == cli.FAILED == 3
    assert capsys.readouterr() == ("", f"perflab: {sentence}\n")


def test_a_bug_is_not_hidden() -> None:
    with pytest.raises(KeyError):
        cli.main(["echo", "bug"])


def test_an_interrupt_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["echo", "interrupt"]) == 130
    assert capsys.readouterr() == ("", "")


def test_missing_arguments_end_with_3(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["echo"])
    assert ended.value.code == 3
    assert "required: word" in capsys.readouterr().err


def test_help_lists_the_commands_without_importing_what_they_need() -> None:
    script = (
        "import sys\n"
        "from perflab.profiler.cli import main\n"
        "try:\n    main(['--help'])\n"
        "finally:\n    print(sorted({'numpy', 'fastapi', 'sqlalchemy', 'httpx', 'plotly'} & sys.modules.keys()))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")
    for name in ("compare", "demo", "gate", "serve", "upload"):
        assert f"\n    {name} " in done.stdout


def test_a_reader_that_has_gone_is_no_traceback() -> None:
    script = (
        "from perflab.profiler import cli\n"
        "class Talk:\n"
        "    help, errors = '', ()\n"
        "    def prepare_parser(self, parser): pass\n"
        "    def run(self, arguments): print('talk ' * 100_000); return 0\n"
        "cli.entry_points = lambda group: [type('Point', (), {'name': 'talk', 'load': lambda self: Talk})()]\n"
        "raise SystemExit(cli.main(['talk']))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait() == 3
    assert process.stderr is not None
    with process.stderr as errors:
        assert errors.read() == b""
