"""What the runtime raises.

    PerflabError
    ├── ShapeError        also RuntimeError and ValueError: shapes that do not fit
    │   └── AxisError         also IndexError: an axis that a shape does not have
    ├── DTypeError        also TypeError: a dtype that an op does not take, or that nobody knows
    ├── IndexOutOfRange   also IndexError: an index outside its axis
    ├── ArgumentError     also ValueError: an argument of a good type and an impossible value
    ├── DeviceError       also RuntimeError: tensors on two devices, or a device that is not there
    ├── AutogradError     also RuntimeError: a graph used twice, a saved tensor changed in place
    │   └── GradcheckError    a gradient that differs from finite differences
    ├── StateError        also RuntimeError and KeyError: a state dict that does not fit its module or optimizer
    ├── FileFormatError  also ValueError: a file that is no saved state, or a damaged one
    ├── OutOfMemoryError also MemoryError and RuntimeError: no memory, though all that was cached was given back
    ├── WorkerError      also RuntimeError: a worker process of a DataLoader that died, or did not answer in time
    └── OpError           also TypeError: an op declared wrongly or by halves

The built-in bases are those that PyTorch and NumPy raise in the same places: code written for them catches ours.
"""


class PerflabError(Exception):
    """Anything that perflab's runtime refuses."""


class ShapeError(PerflabError, RuntimeError, ValueError):
    """Shapes that do not fit: names the op, the shapes that came, and what would fit."""


class AxisError(ShapeError, IndexError):
    """An axis that a shape does not have: names both."""


class DTypeError(PerflabError, TypeError):
    """A dtype that an op does not take, or an unknown one."""


class IndexOutOfRange(PerflabError, IndexError):
    """An index outside its axis: names the index, the axis and its size."""


class ArgumentError(PerflabError, ValueError):
    """An argument with a value that cannot be used."""


class DeviceError(PerflabError, RuntimeError):
    """Tensors on two devices in one call, a device that is not there, or memory that is on another one: names both."""


class AutogradError(PerflabError, RuntimeError):
    """A graph that is gone, a saved tensor that was changed, a gradient where there can be none."""


class GradcheckError(AutogradError):
    """A gradient that differs from finite differences: shows both."""


class StateError(PerflabError, RuntimeError, KeyError):
    """A state dict that does not fit: names what is missing, unexpected or of another shape."""

    def __str__(self) -> str:  # KeyError would show the message's repr
        return str(self.args[0]) if self.args else ""


class FileFormatError(PerflabError, ValueError):
    """A file that load cannot read: says what it is instead."""


class OutOfMemoryError(PerflabError, MemoryError, RuntimeError):
    """No memory, though all that was cached was given back: says what was asked for and what holds the rest."""


class WorkerError(PerflabError, RuntimeError):
    """A worker process of a DataLoader that died or did not answer: names its pid and how it ended."""


class OpError(PerflabError, TypeError):
    """A declaration of an op that cannot stand: names the op and what to declare."""
