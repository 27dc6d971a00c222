"""Runs a Python program as it is, under profile()."""

import ast
import functools
import importlib.util
import os
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import MethodType, ModuleType
from typing import Any

from .errors import ProfilerError, ProgramError
from .session import profile
from .when_imported import call_when_imported

_MARK = "__perflab_step__"  # what the program's own function is decorated with


class Program:
    """A script, or with `module` a module by its dotted name, as `python` and `python -m` run them.

    Raises ProgramError where there is none, or where it is no Python.
    """

    def __init__(self, name: str, *, module: bool = False) -> None:
        self.name = name
        self._has_steps = False
        self._spec = _find(name) if module else None
        self.path = Path(self._spec.origin or "") if self._spec else Path(name)
        try:
            self._tree = ast.parse(self.path.read_bytes(), str(self.path))
        except OSError as error:
            raise ProgramError(f"{self.path}: {error.strerror or error}") from None
        except (SyntaxError, ValueError) as error:
            raise ProgramError(f"{self.path} is no Python program: {error}") from None

    def find_steps(self, function: str) -> None:
        """Each call of one of its functions is to be a step: `train_step`, or of a class `Trainer.train_step`."""
        body: list[ast.stmt] = self._tree.body
        for name in function.split("."):
            found = [
                node
                for node in _statements(body)
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name
            ]
            if not found:
                raise ProgramError(f"{self.path} defines no function {function}: name one of those in it, as --step")
            node, body = found[-1], found[-1].body
        if isinstance(node, ast.ClassDef):
            raise ProgramError(f"{function} of {self.path} is a class: name a method of it, as --step {function}.step")
        mark = ast.copy_location(ast.Name(_MARK, ast.Load()), node)
        node.decorator_list.append(mark)
        self._has_steps = True

    def run(self, arguments: Sequence[str], output: Path) -> int:
        """Run it, and write its trace to `output`, also where it fails; its exit code.

        Steps are the calls of the steps' function; of a program that trains with PyTorch, where none is named, from one
        step of its optimizer to the next. Torch's ops are recorded from its import on, and Python's stack where
        pyinstrument is installed. An exception is shown as Python shows it.
        """
        main = ModuleType("__main__")
        folder = os.getcwd() if self._spec else str(self.path.resolve().parent)
        sys.argv, sys.path[0] = [str(self.path), *arguments], folder
        main.__dict__.update(__file__=str(self.path), __builtins__=__builtins__)
        if self._spec:
            main.__dict__.update(__spec__=self._spec, __package__=self._spec.parent)
        sys.modules["__main__"] = main
        code = compile(self._tree, str(self.path), "exec", dont_inherit=True)
        sampled = importlib.util.find_spec("pyinstrument") is not None
        profiler = profile(metadata={"command": [self.name, *arguments]}, with_stack=sampled)
        steps = main.__dict__[_MARK] = _Steps(profiler)
        with profiler:
            record_torch = functools.partial(_record_torch, profiler, None if self._has_steps else steps)
            call_off = call_when_imported("torch", record_torch)
            ended = _ended(lambda: exec(code, main.__dict__))
            call_off()
        profiler.export_chrome_trace(output)
        return ended


class _Steps:
    """Decorates the function whose calls are steps, or is told of them."""

    def __init__(self, profiler: profile) -> None:
        self._profiler = profiler
        self._began = self._named = False

    def begin(self) -> None:
        """The first one begins, unless it began before."""
        if not self._began:
            self._began = True
            self._profiler.begin_steps()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def step(*args: Any, **kwargs: Any) -> Any:
            self.begin()
            try:
                return function(*args, **kwargs)
            finally:
                self._profiler.step()

        return step

    def of_optimizer(self, optimizer: Any, *_: Any) -> None:
        """Called within steps of torch's optimizers: from now on those of the first one end steps of the program."""
        if self._named:
            return
        self._named, step = True, optimizer.step

        @functools.wraps(step)  # with what torch has noted on it
        def ended(_: Any, *args: Any, **kwargs: Any) -> Any:
            found = step(*args, **kwargs)
            if self._began:
                self._profiler.step()
            self.begin()
            return found

        optimizer.step = MethodType(ended, optimizer)


def _record_torch(profiler: profile, steps: _Steps | None) -> None:
    """Record the ops of a torch that was just imported, and its optimizer's steps."""
    if threading.current_thread() is not threading.main_thread():
        return  # which ends the profile, and torch's recorder ends where it began
    try:
        profiler.record_torch()
    except ProfilerError as error:
        print(f"perflab: {error}", file=sys.stderr)
        return
    if steps is not None:
        from torch.optim.optimizer import register_optimizer_step_post_hook

        register_optimizer_step_post_hook(steps.of_optimizer)


def _ended(run: Callable[[], None]) -> int:
    """The exit code of a program, as the interpreter would give it."""
    try:
        run()
    except SystemExit as left:
        if left.code is None or isinstance(left.code, int):
            return left.code or 0
        print(left.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BaseException as error:
        frames = error.__traceback__
        for _ in range(2):  # of this file
            frames = frames.tb_next if frames else None
        traceback.print_exception(type(error), error, frames)
        return 1
    return 0


def _find(name: str) -> ModuleSpec:
    sys.path.insert(0, os.getcwd())
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except ImportError as error:
        raise ProgramError(f"-m {name}: {error}") from None
    finally:
        del sys.path[0]
    if spec is None or not spec.has_location:
        raise ProgramError(f"there is no module {name} with Python source: name one that `python -m` runs")
    return spec


def _statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """Of a body, those under `if` and `try` too."""
    found: list[ast.stmt] = []
    for node in body:
        found.append(node)
        if isinstance(node, ast.If | ast.Try | ast.With):
            found += _statements(node.body + getattr(node, "orelse", []))
    return found
