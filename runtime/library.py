"""Ops from outside: declared in Python by a user, they stand in traces, tables and errors beside the built-in ones."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, get_args, get_origin

import numpy as np

from . import _core, registry
from ._core import Tensor
from .autograd import Function, no_grad
from .errors import OpError
from .op import Op
from .ops.cast import copy_
from .program import set_operators
from .spec import Indices, Mask

Backends = str | Sequence[str] | None  # None: all that there are
_BACKENDS = ("cpu", "cuda")  # a simulated device computes as the CPU does


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: Sequence[str] = (),
    device_types: Backends = None,
) -> Any:
    """Declare an op called `name`, as "mylib::fused": the decorated function on tensors is its kernel on every device,
    or on those of `device_types`, "cpu" and "cuda", alone.

    Annotations are the schema: `Tensor` for a tensor (these come first), int, bool, float, DType, tuple[int, ...] for
    an attribute, `-> Tensor` or `-> tuple[Tensor, Tensor]` for the results, which are new tensors. The docstring is
    the op's. Tensors are cast to the dtype of the first, but for those annotated with Indices or Mask (spec.py), which
    have no gradient. Further declarations: register_fake (needed), vjp or register_autograd, register_flops,
    register_kernel.
    """
    if len(parts := name.split("::")) != 2 or not all(p.isidentifier() for p in parts):
        raise OpError(f"custom_op: the name is '{name}', it must have the form 'library::op'")
    if mutates_args:
        raise OpError(f"{name}: its arguments may not be changed: give a new tensor (mutates_args=())")

    backends = _backends(name, device_types)

    def declare(function: Callable[..., Any]) -> CustomOp:
        return CustomOp(name, function, backends)

    return declare if fn is None else declare(fn)


def _backends(name: str, device_types: Backends) -> Sequence[str]:
    given = (device_types,) if isinstance(device_types, str) else _BACKENDS if device_types is None else device_types
    for backend in given:
        if backend not in _BACKENDS:
            raise OpError(f"{name}: there is no backend '{backend}', use 'cpu' or 'cuda'")
    return given


class CustomOp:
    """An op that custom_op declared; calling it runs it."""

    def __init__(self, name: str, function: Callable[..., Any], backends: Sequence[str]) -> None:
        self.__doc__ = function.__doc__
        self.__name__ = name
        self._kernels = dict.fromkeys(backends, function)
        self._shapes: Callable[..., Any] | None = None
        self._flops: Callable[..., int] | None = None
        self._function: type[Function] | None = None
        self._signature = inspect.signature(function)
        count = _count_results(name, function)

        def body(xp: Any, *arrays: Any, **attributes: Any) -> Any:
            results = self._run("cpu", [_core.from_numpy(np.array(a)) for a in arrays], attributes)
            found = tuple(np.asarray(memoryview(out.detach())) for out in results)
            return found if self.record.several else found[0]

        body.__name__, body.__doc__ = name, inspect.cleandoc(function.__doc__ or "")
        body.__signature__ = _signature_of_op(name, function)  # type: ignore[attr-defined]
        self.handle = registry.primitive(
            infer=self._infer,
            flops=self._count_flops,
            returns=[f"out{k}" for k in range(count or 0)],
            public=False,
            method=False,
        )(body)
        self.record: Op = self.handle.record
        self.record.on_cuda = self._run_on_cuda
        set_operators({name: self.handle})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._function is not None:
            return self._function.apply(*self._bound(args, kwargs))
        if not self.has_gradient and _core.is_grad_enabled():
            needs = [a for a in args if isinstance(a, Tensor) and a.requires_grad]
            if needs:
                raise OpError(f"{self.__name__}: it has no gradient: declare one with vjp or register_autograd")
        return self.handle(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<op {self.__name__}{self._signature}>"

    @property
    def has_gradient(self) -> bool:
        """Whether vjp or register_autograd declared one."""
        return self.record.gradient is not None or self._function is not None

    @property
    def vjp(self) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Declare the gradient with ops, as of a built-in op (Op.vjp): it is traced, and runs without Python."""
        return self.record.vjp

    def register_autograd(
        self, backward: Callable[..., Any], *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Declare the gradient as a Function's backward(ctx, *gradients) and setup_context(ctx, inputs, output)."""
        if self.record.gradient is not None:
            raise OpError(f"{self.__name__}: it has a vjp already")

        def setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            if setup_context is not None:
                setup_context(ctx, inputs, output)

        methods = {
            "forward": staticmethod(self.handle),
            "setup_context": staticmethod(setup),
            "backward": staticmethod(backward),
        }
        self._function = type(self.__name__, (Function,), methods)

    def register_fake(self, shapes: Callable[..., Any]) -> Callable[..., Any]:
        """Declare the shape rule: Specs of the tensors, and attributes, to the result's Spec, or a tuple of them."""
        self._shapes = shapes
        return shapes

    def register_flops(self, flops: Callable[..., int]) -> Callable[..., int]:
        """Declare the FLOPs of a call: Specs, `out` and attributes to a number. Without it they are 0."""
        self._flops = flops
        return flops

    def register_kernel(self, device_types: Backends, func: Callable[..., Any] | None = None, /) -> Any:
        """Declare the kernel for backends, "cpu" and "cuda", in place of an earlier one."""
        backends = _backends(self.__name__, device_types)

        def declare(function: Callable[..., Any]) -> Callable[..., Any]:
            self._kernels |= dict.fromkeys(backends, function)
            return function

        return declare if func is None else declare(func)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return tuple(bound.arguments.values())

    def _infer(self, *specs: Any, **attributes: Any) -> Any:
        if self._shapes is None:
            raise OpError(f"{self.__name__}: declare its shape rule with register_fake")
        return self._shapes(*specs, **attributes)

    def _count_flops(self, *specs: Any, out: Any, **attributes: Any) -> int:
        return 0 if self._flops is None else self._flops(*specs, out=out, **attributes)

    def _run(self, backend: str, tensors: Sequence[Tensor], attributes: dict[str, Any]) -> tuple[Tensor, ...]:
        """What the backend's kernel gives for tensors that nobody else has."""
        if backend not in self._kernels:
            raise OpError(f"{self.__name__}: it has no kernel for '{backend}': declare one with register_kernel")
        with no_grad():
            result = self._kernels[backend](*tensors, **attributes)
        results = result if self.record.several and isinstance(result, tuple) else (result,)
        for out in results:
            if not isinstance(out, Tensor):
                raise TypeError(f"{self.__name__}: its kernel must give Tensors, not a {type(out).__name__}")
        return results

    def _run_on_cuda(
        self, op: Op, inputs: Sequence[Tensor], attributes: dict[str, Any], outputs: Sequence[Tensor]
    ) -> None:
        device = outputs[0].device
        results = self._run("cuda", [t.clone() if t._device else t.to(device) for t in inputs], attributes)
        for tensor, result in zip(outputs, results, strict=True):
            op.check_shape(result.shape, tensor.shape)
            copy_(tensor, result.detach())


def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    return inspect.get_annotations(function, eval_str=True)


def _signature_of_op(name: str, function: Callable[..., Any]) -> inspect.Signature:
    """As a built-in op's body has it: xp, the tensors, and the attributes as keywords."""
    annotations, parameters = _annotations(function), [inspect.Parameter("xp", _POSITIONAL)]
    for p in inspect.signature(function).parameters.values():
        annotation = annotations.get(p.name)
        if annotation in (Tensor, Indices, Mask):
            if parameters[-1].kind is _KEYWORD:
                raise OpError(f"{name}: '{p.name}' is a tensor after an attribute: tensors come first")
            parameters.append(inspect.Parameter(p.name, _POSITIONAL, annotation=annotation))
        elif annotation is None or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            raise OpError(f"{name}: annotate '{p.name}' with Tensor, or as an attribute with int, bool or float, ...")
        else:
            parameters.append(inspect.Parameter(p.name, _KEYWORD, default=p.default, annotation=annotation))
    return inspect.Signature(parameters)


def _count_results(name: str, function: Callable[..., Any]) -> int | None:
    """How many results its annotation says; None: one, and no tuple."""
    given = _annotations(function).get("return")
    if given is Tensor:
        return None
    if get_origin(given) is tuple and get_args(given) and all(a is Tensor for a in get_args(given)):
        return len(get_args(given))
    raise OpError(f"{name}: annotate what it gives: -> Tensor, or -> tuple[Tensor, Tensor] and so on")


_POSITIONAL, _KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
