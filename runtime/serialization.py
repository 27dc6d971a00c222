"""Saving and loading: tensors and plain values as safetensors, anything as a pickle where that is asked for."""

import contextlib
import json
import os
import pickle
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from ._core import Tensor
from .creation import copied
from .device import Device, as_device
from .errors import ArgumentError, FileFormatError
from .spec import as_dtype

Target = str | os.PathLike[str] | IO[bytes]

# The metadata's key for the structure, with tensors by their names in the file. Of a flat dict it keeps the order.
_STRUCTURE = "perflab.structure"
_KINDS = {"I": "int", "U": "uint", "F": "float", "BF": "bfloat", "C": "complex"}


def save(obj: Any, f: Target, *, metadata: Mapping[str, str] | None = None, weights_only: bool = True) -> None:
    """Write tensors, and numbers, strings, dicts, lists and tuples of them, to a path or a binary file.

    The file is in the safetensors format; of a flat dict of tensors it holds these under their names, for any program
    that reads it. metadata: strings that are kept with it. weights_only=False pickles any object instead; loading that
    needs the same. A path gets the file whole or not at all, where a link leads if it is one. Raises TypeError for
    what only a pickle can hold.
    """
    if weights_only:
        data = _encode(obj, metadata)
    elif metadata is not None:
        raise ArgumentError("save: a pickle has no metadata: put it into the object")
    else:
        data = pickle.dumps(obj)
    if not isinstance(f, str | os.PathLike):
        f.write(data)
        return
    if os.path.exists(f) and not os.path.isfile(f):  # a pipe or a device: no file may take its place
        Path(f).write_bytes(data)
        return
    path = Path(os.path.realpath(f))
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def load(f: Target, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """What save wrote, or the dict of tensors in another program's safetensors file.

    map_location: the device that tensors come to, by default the CPU.

    weights_only=False also unpickles, which runs code that the file names: do it to files that you trust. Raises
    FileFormatError, which says what the file is, for one that is damaged or in another format.
    """
    where = as_device(map_location)
    data, name = _read(f)
    if data[:1] == b"\x80" and not weights_only:
        return pickle.loads(data)
    return _decode(data, name, _metadata(data, name), where)


def load_metadata(f: Target) -> dict[str, str]:
    """The strings that save kept as `metadata`."""
    data, name = _read(f)
    found = _metadata(data, name)
    found.pop(_STRUCTURE, None)
    return found


# --- to bytes


def _encode(obj: Any, metadata: Mapping[str, str] | None) -> bytes:
    from safetensors import SafetensorError
    from safetensors.numpy import save as to_bytes

    notes = dict(metadata or {})
    if _STRUCTURE in notes or not all(isinstance(text, str) for pair in notes.items() for text in pair):
        raise ArgumentError(f"save: metadata is strings by strings, and '{_STRUCTURE}' is taken")
    tensors: dict[str, np.ndarray[Any, Any]] = {}
    notes[_STRUCTURE] = json.dumps(_outline(obj, "", tensors))
    try:
        return to_bytes(tensors, metadata=notes)
    except SafetensorError as error:
        raise TypeError(f"save: safetensors cannot hold this: {error}") from None


def _outline(value: Any, path: str, tensors: dict[str, np.ndarray[Any, Any]]) -> Any:
    """The value as JSON, with its tensors taken out into a dict."""
    if isinstance(value, Tensor):
        name = path or "tensor"
        if name in tensors:
            raise ArgumentError(f"save: two tensors would have the name '{name}'")
        tensors[name] = np.asarray(np.asarray(value.detach()), order="C")
        return {"tensor": name}
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, dict):
        pairs = []
        for key, part in value.items():
            if type(key) not in (str, int, float, bool):
                raise TypeError(f"save: a key of {_place(path)} is a {type(key).__name__}: {_ADVICE}")
            pairs.append([key, _outline(part, f"{path}.{key}" if path else str(key), tensors)])
        return {"dict": pairs}
    if type(value) in (list, tuple):
        parts = [_outline(part, f"{path}.{i}" if path else str(i), tensors) for i, part in enumerate(value)]
        return {type(value).__name__: parts}
    raise TypeError(f"save: {_place(path)} is a {type(value).__name__}: {_ADVICE}")


_ADVICE = (
    "only tensors, numbers, strings, None, dicts, lists and tuples are kept without a pickle; "
    "save(..., weights_only=False) makes one"
)


def _place(path: str) -> str:
    return f"'{path}'" if path else "the object"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# --- from bytes


def _read(f: Target) -> tuple[bytes, str]:
    if isinstance(f, str | os.PathLike):
        return Path(f).read_bytes(), os.fspath(f)
    return f.read(), str(getattr(f, "name", "the file"))


def _metadata(data: bytes, name: str) -> dict[str, str]:
    """The file's own notes, once it is known to be in the format: a length of 8 bytes, a header in JSON, the values."""
    from safetensors import SafetensorError, deserialize

    try:
        deserialize(data)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise FileFormatError(f"{name} {_what_it_is(data, error)}") from None
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return dict(header.get("__metadata__") or {})


def _what_it_is(data: bytes, error: Exception) -> str:
    if not data:
        return "is empty"
    if data[:1] == b"\x80":
        return "is a pickle, which may run code when it is loaded: load(..., weights_only=False), if you trust it"
    if data[:2] == b"PK":
        return "is a zip archive, as torch.save writes: load it there and save the tensors as safetensors"
    return f"is no safetensors file, or a damaged one: {error}"


def _decode(data: bytes, name: str, notes: dict[str, str], where: Device) -> Any:
    from safetensors import deserialize

    tensors = {key: _tensor(found).to(where) for key, found in deserialize(data)}  # type: ignore[no-untyped-call]
    if _STRUCTURE not in notes:
        return tensors
    try:
        return _rebuilt(json.loads(notes[_STRUCTURE]), tensors)
    except (KeyError, ValueError) as error:
        raise FileFormatError(f"{name} has a damaged structure: {error!r}") from None


def _tensor(found: Mapping[str, Any]) -> Tensor:
    kind = found["dtype"].rstrip("0123456789")  # F32, BF16, BOOL
    dtype = as_dtype(_KINDS.get(kind, kind.lower()) + found["dtype"].removeprefix(kind)).numpy
    return copied(np.frombuffer(found["data"], dtype).reshape(found["shape"]))


def _rebuilt(outline: Any, tensors: Mapping[str, Tensor]) -> Any:
    if not isinstance(outline, dict):
        return outline
    ((kind, value),) = outline.items()
    if kind == "tensor":
        return tensors[value]
    if kind == "dict":
        return {key: _rebuilt(part, tensors) for key, part in value}
    return {"list": list, "tuple": tuple}[kind](_rebuilt(part, tensors) for part in value)
