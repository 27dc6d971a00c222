"""perflab.runtime.data, under PyTorch's name."""

from ..data import *  # noqa: F403
from ..data import __all__ as __all__
