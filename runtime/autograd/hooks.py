"""Hooks: functions that see gradients on their way, and may replace them.

Nodes and leaves keep an object of this module; the engine calls it when it is there. The order at a node is: hooks of
its output tensors as they were registered, retained gradients, pre-hooks, the node itself, hooks of the node.
A tensor that is changed in place has a new node: hooks stay with the values that they were registered for, a retained
gradient goes along.
"""

import threading
import weakref
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Literal, TypeAlias, TypeVar

from .. import _core
from ..errors import AutogradError

Tensor: TypeAlias = _core.Tensor
_Gradients: TypeAlias = tuple[Tensor | None, ...]
_Old = TypeVar("_Old", Tensor, Tensor | None)
_keys = count()


class RemovableHandle:
    """What registering a hook gives back: `remove()` takes the hook out again, and so does the end of a `with`."""

    def __init__(self, hooks: dict[int, Any], hook: Any) -> None:
        self._hooks = hooks
        self._key = next(_keys)
        hooks[self._key] = hook

    def remove(self) -> None:
        """Take the hook out; once it is gone, nothing happens."""
        self._hooks.pop(self._key, None)

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def _named(hook: Any) -> str:
    return f"hook {getattr(hook, '__qualname__', type(hook).__name__)!r}"


def _replaced(hook: Any, old: _Old, new: Any) -> Tensor | _Old:
    if new is None:
        return old
    if not isinstance(new, Tensor):
        raise TypeError(f"{_named(hook)} returned a {type(new).__name__}: return a Tensor, or None to change nothing")
    if old is not None and (new.shape != old.shape or new.dtype != old.dtype):
        raise AutogradError(
            f"{_named(hook)} has changed the gradient from {old.dtype!r} {old.shape} to {new.dtype!r} {new.shape}"
        )
    return new


def _all_replaced(hook: Any, old: _Gradients, new: Any) -> _Gradients:
    if new is None:
        return old
    given = new if isinstance(new, tuple) else (new,)
    if len(given) != len(old):
        raise AutogradError(f"{_named(hook)} returned {len(given)} gradients, but there are {len(old)}")
    return tuple(_replaced(hook, before, after) for before, after in zip(old, given, strict=True))


class NodeHooks:
    """The hooks of a node, and its metadata."""

    def __init__(self) -> None:
        self.metadata: dict[Any, Any] = {}
        self.tensors: dict[int, tuple[int, Callable[[Tensor], Tensor | None]]] = {}  # with the number of the output
        self.retained: dict[int, Callable[[], Tensor | None]] = {}  # by the number of the output
        self.before: dict[int, Callable[..., Any]] = {}
        self.after: dict[int, Callable[..., Any]] = {}

    def run(self, when: int, gradients: _Gradients, of_outputs: _Gradients) -> _Gradients:
        """Called by the engine: 0 for the output tensors, 1 before the node, 2 after it (HookTime in core/engine.h)."""
        if when == 0:
            return self._run_tensors(list(gradients))
        for hook in list((self.before if when == 1 else self.after).values()):
            result = hook(gradients) if when == 1 else hook(gradients, of_outputs)
            gradients = _all_replaced(hook, gradients, result)
        return gradients

    def _run_tensors(self, gradients: list[Tensor | None]) -> _Gradients:
        for output, hook in list(self.tensors.values()):
            gradient = gradients[output]
            if gradient is not None:
                gradients[output] = _replaced(hook, gradient, hook(gradient))
        for output, wanted in self.retained.items():
            tensor, gradient = wanted(), gradients[output]
            if tensor is not None and gradient is not None:
                tensor.grad = gradient.copy() if tensor.grad is None else tensor.grad + gradient
        return tuple(gradients)

    def move_retained(self, output: int, to: _core.Node, to_output: int) -> None:
        """Called by the core when a tensor was changed in place: its retained gradient is that of the new values."""
        if output in self.retained:
            hooks_of_node(to).retained[to_output] = self.retained.pop(output)


class LeafHooks:
    """The hooks of a leaf."""

    def __init__(self) -> None:
        self.tensors: dict[int, Callable[[Tensor], Tensor | None]] = {}
        self.before: dict[int, Callable[..., Any]] = {}  # of its AccumulateGrad, as the next
        self.after: dict[int, Callable[..., Any]] = {}
        self.accumulated_hooks: dict[int, Callable[[Tensor], None]] = {}

    def run(self, gradient: Tensor) -> Tensor:
        """Called by the engine when the gradient is complete."""
        for hook in list(self.tensors.values()):
            gradient = _replaced(hook, gradient, hook(gradient))
        for hook in list(self.before.values()):
            result = hook((gradient,))
            gradient = _replaced(hook, gradient, result[0] if isinstance(result, tuple) else result)
        return gradient

    def accumulated(self, leaf: Tensor) -> None:
        """Called by the engine when `leaf.grad` has the gradient."""
        for hook in list(self.after.values()):
            hook((), (leaf.grad,))
        for done in list(self.accumulated_hooks.values()):
            done(leaf)


def hooks_of_node(node: _core.Node) -> NodeHooks:
    """What keeps the node's hooks, made when there is none."""
    if node._hooks is None:
        node._hooks = NodeHooks()
    hooks: NodeHooks = node._hooks
    return hooks


def hooks_of_leaf(leaf: Tensor) -> LeafHooks:
    """What keeps the leaf's hooks, made when there is none."""
    if leaf._hooks is None:
        leaf._hooks = LeafHooks()
    hooks: LeafHooks = leaf._hooks
    return hooks


def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call `hook(gradient)` whenever the gradient of this tensor has been computed, before it is used or accumulated.

    What the hook returns takes the gradient's place; None changes nothing. Hooks run in the order of registration.
    Raises AutogradError when the tensor does not require grad.
    """
    if not self.requires_grad:
        raise AutogradError("register_hook() of a tensor that does not require grad: nothing would call it")
    if self.grad_fn is None:
        return RemovableHandle(hooks_of_leaf(self).tensors, hook)
    return RemovableHandle(hooks_of_node(self.grad_fn).tensors, (self.output_nr, hook))


def retain_grad(self: Tensor) -> None:
    """Keep the gradient of this tensor in `grad` although it is no leaf; for a leaf nothing changes.

    Runs after all hooks of the tensor, and follows it when it is changed in place. Raises AutogradError when the
    tensor does not require grad.
    """
    if not self.requires_grad:
        raise AutogradError("retain_grad() of a tensor that does not require grad: it gets no gradient")
    if self.grad_fn is not None:
        hooks_of_node(self.grad_fn).retained.setdefault(self.output_nr, weakref.ref(self))


def retains_grad(self: Tensor) -> bool:
    """Whether retain_grad() was called: always False for a leaf."""
    node = self.grad_fn
    return node is not None and node._hooks is not None and self.output_nr in node._hooks.retained


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Call `hook(tensor)` whenever a backward pass has added to the `grad` of this leaf.

    Raises AutogradError for a tensor that is no leaf or does not require grad.
    """
    if not self.requires_grad:
        raise AutogradError("register_post_accumulate_grad_hook() of a tensor that does not require grad")
    if self.grad_fn is not None:
        raise AutogradError("register_post_accumulate_grad_hook() is for leaves: use register_hook() or retain_grad()")
    return RemovableHandle(hooks_of_leaf(self).accumulated_hooks, hook)


def register_node_hook(self: _core.Node, hook: Callable[[_Gradients, _Gradients], Any]) -> RemovableHandle:
    """Call `hook(grad_inputs, grad_outputs)` after the node has run; what it returns takes the place of grad_inputs."""
    return RemovableHandle(hooks_of_node(self).after, hook)


def register_node_prehook(self: _core.Node, hook: Callable[[_Gradients], Any]) -> RemovableHandle:
    """Call `hook(grad_outputs)` before the node runs; what it returns takes their place."""
    return RemovableHandle(hooks_of_node(self).before, hook)


class _MultiHandle:
    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self._handles = handles

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()

    def __enter__(self) -> "_MultiHandle":
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: Literal["all", "any"] = "all"
) -> _MultiHandle:
    """One hook for several tensors.

    With mode "all", `fn(gradients)` is called once in each backward pass that comes to any of them, when all gradients
    that it will compute are there; None stands for the others. With "any", `fn(gradient)` is called with the first one.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"mode is {mode!r}: it may be 'all' or 'any'")
    lock = threading.Lock()
    passes: dict[int, list[Tensor | None]] = {}
    missing: dict[int, int] = {}
    last = 0

    def first(gradient: Tensor) -> None:
        nonlocal last
        number = _core.current_pass()
        with lock:
            seen, last = last == number, number
        if not seen:
            fn(gradient)

    def collect(index: int, gradient: Tensor) -> None:
        number = _core.current_pass()
        with lock:
            if number not in passes:
                passes[number] = [None] * len(tensors)
                missing[number] = sum(_core.pass_reaches(t) for t in tensors)
            passes[number][index] = gradient
            missing[number] -= 1
            if missing[number]:
                return
            gradients = passes.pop(number)
            del missing[number]
        fn(gradients)

    if mode == "any":
        return _MultiHandle([register_hook(t, first) for t in tensors])
    return _MultiHandle([register_hook(t, lambda g, i=i: collect(i, g)) for i, t in enumerate(tensors)])  # type: ignore[misc]


def _install() -> None:
    for function in (register_hook, retain_grad, register_post_accumulate_grad_hook):
        setattr(Tensor, function.__name__, function)
    Tensor.retains_grad = property(retains_grad)
    _core.Node.register_hook = register_node_hook
    _core.Node.register_prehook = register_node_prehook
    _core.Node.metadata = property(lambda self: hooks_of_node(self).metadata, doc="A dict for whatever one likes.")


_install()
