"""What calls of the runtime's ops had to do, from what a recording keeps of them: names, input specs, output bytes."""

from collections.abc import Sequence

from perflab.runtime.registry import OPS
from perflab.runtime.spec import Spec, as_dtype


def cost(op: str, inputs: Sequence[tuple[str, tuple[int, ...]]], out_dtype: str, out_bytes: int) -> tuple[int, int]:
    """FLOPs and bytes of a call, (0, 0) where they cannot be told: attributes are not recorded.

    The output's shape is taken from an input of its size, or else is one row: few declarations ask more than the size.
    """
    record = OPS.get(op)
    if record is None or record.view or record.several or not out_bytes:
        return 0, 0
    specs = [Spec(tuple(shape), as_dtype(name)) for name, shape in inputs]
    kind = as_dtype(out_dtype)
    size = out_bytes // kind.itemsize
    out = Spec(next((spec.shape for spec in reversed(specs) if spec.size == size), (size,)), kind)
    presets = {attribute.name: attribute.preset for attribute in record.attributes}
    try:
        found = record.cost(specs, [out], **presets)
        return int(found.flops), int(found.read + found.write)
    except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError):  # it asks for an attribute
        return 0, 0
