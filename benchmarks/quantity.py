"""Numbers in words, as the profiler writes them."""

from perflab.profiler.quantity import BYTES, NANOSECONDS, SECONDS, Scale, change, percent, plain, quantity, scale_of

__all__ = ["BYTES", "NANOSECONDS", "SECONDS", "Scale", "change", "percent", "plain", "quantity", "scale_of"]
