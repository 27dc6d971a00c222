"""The streams that random numbers are drawn from."""

import os
import threading
from typing import Any

import numpy as np

from . import _core
from ._core import Tensor
from .device import as_device
from .errors import ArgumentError, StateError
from .spec import uint8


class Generator:
    """A stream of random numbers, which functions draw from with `generator=`. It starts from seed 0.

    The same seed gives the same numbers on every device.
    """

    def __init__(self, device: Any = "cpu") -> None:
        self.device = as_device(device)
        self._lock = threading.Lock()
        self._seed = self._block = 0

    def manual_seed(self, seed: int) -> "Generator":
        """Start the stream of this seed, an int from -2**63 to 2**64 - 1."""
        if not -(2**63) <= seed < 2**64:
            raise ArgumentError(f"manual_seed: the seed must lie between -2**63 and 2**64 - 1, not {seed}")
        with self._lock:
            self._seed, self._block = int(seed) % 2**64, 0
        return self

    def seed(self) -> int:
        """Start the stream of a seed that the operating system chooses, and give the seed."""
        chosen = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(chosen)
        return chosen

    def initial_seed(self) -> int:
        """The seed of the stream."""
        return self._seed

    def get_state(self) -> Tensor:
        """Where the stream stands, for set_state: uint8, (16,)."""
        with self._lock:
            state = np.array([self._seed, self._block], "<u8")
        return _core.from_numpy(state.view(np.uint8))

    def set_state(self, state: Tensor) -> None:
        """Go on where get_state was called."""
        if not isinstance(state, Tensor) or state.dtype is not uint8 or state.shape != (16,):
            raise StateError("set_state takes what get_state gave, a uint8 Tensor of shape (16,)")
        seed, block = state.numpy().copy().view("<u8")
        with self._lock:
            self._seed, self._block = int(seed), int(block)

    def clone_state(self) -> "Generator":
        """Another generator that stands where this one does."""
        copied = Generator()
        copied.set_state(self.get_state())
        return copied

    def draw(self, count: int) -> tuple[int, int]:
        """Take `count` numbers: the seed, and the block of two that the first of them is in (core/kernels/random.h)."""
        with self._lock:
            block = self._block
            self._block = (block + (count + 1) // 2) % 2**64
            return self._seed, block

    def __getstate__(self) -> dict[str, int]:
        return {"seed": self._seed, "block": self._block}

    def __setstate__(self, state: dict[str, int]) -> None:
        self.__init__()  # type: ignore[misc]
        self._seed, self._block = state["seed"], state["block"]


default_generator = Generator()
