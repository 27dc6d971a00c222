"""GradScaler: losses are scaled so that small float16 gradients do not vanish."""

from collections.abc import Mapping
from typing import Any

from .. import _core
from .._core import Tensor
from ..device import as_device
from ..errors import ArgumentError, StateError
from ..optim import Optimizer
from ..spec import float32, float64


class GradScaler:
    """Scales the loss, takes the scale off the gradients before a step, and leaves a step out if they overflowed.

    The scale starts at init_scale, is multiplied by backoff_factor after a step with an infinite or NaN gradient, and
    by growth_factor after growth_interval steps in a row without one. Without `enabled` nothing is done.
    """

    def __init__(
        self,
        device: Any = "cpu",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        as_device(device)
        if growth_factor <= 1:
            raise ArgumentError(f"GradScaler: growth_factor must be above 1, not {growth_factor}")
        if backoff_factor >= 1:
            raise ArgumentError(f"GradScaler: backoff_factor must be below 1, not {backoff_factor}")
        self._enabled = enabled
        self._scale = init_scale
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        # Since the last update: whether an optimizer's gradients overflowed, and which have had their step.
        self._overflowed: dict[Optimizer, bool] = {}
        self._stepped: set[Optimizer] = set()

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def scale(self, outputs: Any) -> Any:
        """A loss, or a list or tuple of them, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, list | tuple):
            return type(outputs)(self.scale(output) for output in outputs)
        raise TypeError(f"GradScaler: scale takes Tensors, not {type(outputs).__name__}")

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of the optimizer's parameters by the scale: for clipping; step does it by itself.

        Raises StateError when it was done already since the last update.
        """
        if not self._enabled:
            return
        if optimizer in self._overflowed:
            when = "after step()" if optimizer in self._stepped else "twice"
            raise StateError(f"GradScaler: unscale_() is called {when}: call update() between steps")
        self._overflowed[optimizer] = self._unscale(optimizer)

    def _unscale(self, optimizer: Optimizer) -> bool:
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        for grad in grads:
            if grad.dtype not in (float32, float64):
                raise ArgumentError(
                    f"GradScaler: a gradient is {grad.dtype.name}: keep the parameters in float32, and run forward "
                    "under autocast"
                )
        return _core.unscale(grads, 1 / self._scale)

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """optimizer.step(*args), unless a gradient overflowed; None then. Gradients are unscaled first."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs or args:
            raise ArgumentError("GradScaler: a step with a closure cannot be left out: compute the loss before")
        if optimizer in self._stepped:
            raise StateError("GradScaler: step() is called twice: call update() between steps")
        if optimizer not in self._overflowed:
            self.unscale_(optimizer)
        self._stepped.add(optimizer)
        return None if self._overflowed[optimizer] else optimizer.step()

    def update(self, new_scale: float | None = None) -> None:
        """Adapt the scale to what happened since the last update, or set it. Call it after all steps."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._overflowed:
            raise StateError("GradScaler: update() came before any step() or unscale_()")
        elif any(self._overflowed.values()):
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                self._scale *= self._growth_factor
                self._growth_tracker = 0
        self._overflowed.clear()
        self._stepped.clear()

    def get_scale(self) -> float:
        """The scale; 1 when it is not enabled."""
        return self._scale if self._enabled else 1.0

    def state_dict(self) -> dict[str, Any]:
        """The scale, what it is multiplied by, and how far it is to the next growth; empty when not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what state_dict gave."""
        if not self._enabled:
            return
        if not state_dict:
            raise StateError("GradScaler: the state is of a scaler that was not enabled")
        self._scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]
