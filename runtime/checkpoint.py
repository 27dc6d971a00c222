"""Checkpointing: a part of the forward pass is computed again in backward instead of being kept."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from . import _core, creation, random
from ._core import Tensor
from .autocast import autocast, get_autocast_dtype
from .autograd import Function, backward, enable_grad
from .autograd.saved import saved_tensors_hooks
from .errors import AutogradError

Outside = tuple[tuple[int, ...], Any]  # shape and dtype


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool = False,
    preserve_rng_state: bool = True,
    determinism_check: str = "default",
    **kwargs: Any,
) -> Any:
    """function(*args, **kwargs), of which only the arguments are kept: backward runs it again for what it needs.

    preserve_rng_state: the second run draws the same random numbers. use_reentrant=False runs it when backward first
    needs a value of it, stops as soon as all values are there, works with nested checkpoints and gradients of
    gradients, and checks that shapes and dtypes are as they were (AutogradError; determinism_check="none" leaves it
    out). use_reentrant=True runs a backward within backward: at least one argument must require grad, and keywords are
    not taken.
    """
    if use_reentrant:
        if kwargs:
            raise TypeError(f"checkpoint: with use_reentrant=True keywords are not taken: {', '.join(kwargs)}")
        return _Reentrant.apply(function, _State(preserve_rng_state), *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"checkpoint: determinism_check is {determinism_check!r}: it may be 'default' or 'none'")
    if not _core.is_grad_enabled():
        return function(*args, **kwargs)
    frame = _Frame(function, args, kwargs, _State(preserve_rng_state), determinism_check == "default")
    with saved_tensors_hooks(frame.pack, frame.unpack):
        return function(*args, **kwargs)


class _State:
    """Where the random numbers and autocast stood, so that a second run is like the first."""

    def __init__(self, preserve_rng: bool) -> None:
        self._rng = random.get_rng_state() if preserve_rng else None
        self._dtype = get_autocast_dtype()

    @contextmanager
    def again(self) -> Iterator[None]:
        rng = random.get_rng_state()
        if self._rng is not None:
            random.set_rng_state(self._rng)
        try:
            with autocast("cpu", self._dtype, enabled=self._dtype is not None):
                yield
        finally:
            if self._rng is not None:
                random.set_rng_state(rng)


class _Reentrant(Function):
    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], state: _State, *args: Any) -> Any:
        ctx.function, ctx.state = function, state
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*(a if isinstance(a, Tensor) else None for a in args))
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        args = [
            other if saved is None else saved.detach().requires_grad_(needed)
            for saved, other, needed in zip(ctx.saved_tensors, ctx.others, ctx.needs_input_grad[2:], strict=True)
        ]
        with enable_grad(), ctx.state.again():
            result = ctx.function(*args)
        outputs = result if isinstance(result, tuple) else (result,)
        pairs = [
            (out, g) for out, g in zip(outputs, gradients, strict=True) if isinstance(out, Tensor) and out.requires_grad
        ]
        if not pairs:
            raise AutogradError("checkpoint: none of its outputs requires grad: call the function itself")
        roots, flows = zip(*pairs, strict=True)
        backward(roots, flows)
        return None, None, *(a.grad if isinstance(a, Tensor) else None for a in args)


class _Inputs(Function):
    """A node that saves the arguments: hooks of an outer checkpoint see them, and versions are watched."""

    @staticmethod
    def forward(ctx: Any, always: Tensor, *tensors: Tensor) -> Tensor:
        ctx.save_for_backward(*tensors)
        return creation.empty(0)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise AutogradError("checkpoint: nothing flows through what keeps its arguments")


class _AllThere(Exception):
    """Ends the second run early."""


class _Frame:
    """One checkpointed call. What its nodes save is packed as a number, in the order of saving."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        state: _State,
        check: bool,
    ) -> None:
        self._function, self._kwargs, self._state, self._check = function, kwargs, state, check
        self._others = [None if isinstance(a, Tensor) else a for a in args]
        self._places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        tensors = [args[i] for i in self._places]
        self._inputs = _Inputs.apply(creation.empty(0, requires_grad=True), *tensors).grad_fn
        self._saved: list[Outside] = []  # in the first run
        self._values: dict[int, Tensor] = {}  # of the second run, each until it was used
        self._pass = 0  # that the second run was for

    def pack(self, tensor: Tensor) -> int:
        self._saved.append((tensor.shape, tensor.dtype))
        return len(self._saved) - 1

    def unpack(self, number: int) -> Tensor:
        if number not in self._values or self._pass != _core.current_pass():
            self._run_again()
        return self._values.pop(number)

    def _run_again(self) -> None:
        args = list(self._others)
        for i, tensor in zip(self._places, self._inputs.saved_tensors, strict=True):
            args[i] = tensor
        values: list[Tensor] = []

        def keep(tensor: Tensor) -> None:
            values.append(tensor)
            if len(values) == len(self._saved):
                raise _AllThere

        def refuse(_: Any) -> Tensor:
            raise AutogradError("checkpoint: backward within the function that is checkpointed")

        try:
            with enable_grad(), self._state.again(), saved_tensors_hooks(keep, refuse):
                self._function(*args, **self._kwargs)
        except _AllThere:
            pass
        if self._check:
            self._compare([(t.shape, t.dtype) for t in values])
        self._values, self._pass = dict(enumerate(values)), _core.current_pass()

    def _compare(self, found: list[Outside]) -> None:
        if len(found) != len(self._saved):
            raise AutogradError(
                f"checkpoint: the function saved {len(self._saved)} tensors in forward and {len(found)} when it ran "
                "again: it must do the same both times"
            )
        for i, (before, after) in enumerate(zip(self._saved, found, strict=True)):
            if before != after:
                raise AutogradError(
                    f"checkpoint: saved tensor {i} was {before[1].name} {before[0]} in forward and is {after[1].name} "
                    f"{after[0]} when the function ran again: it must do the same both times"
                )
