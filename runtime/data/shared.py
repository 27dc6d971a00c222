"""Messages between processes, with their tensors and arrays in shared memory.

A message is one pickle, whose tensors and arrays lie in a memory file of its own (memfd), sent after it as a file
descriptor. Such a file has no name: it goes with its last user, also when a process is killed.
"""

import io
import mmap
import os
import pickle
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from .._core import Tensor
from ..creation import from_numpy

_ALIGNMENT = 64
_HEADER = 8  # bytes of the memory file, little-endian


class _Pickler(pickle.Pickler):
    """Leaves tensors and arrays out and counts where they will lie."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.arrays: list[tuple[int, np.ndarray[Any, Any]]] = []
        self.size = 0

    def persistent_id(self, value: Any) -> Any:
        if type(value) is Tensor:
            array, requires_grad = np.asarray(value.detach()), value.requires_grad
        elif type(value) is np.ndarray and not value.dtype.hasobject:
            array, requires_grad = value, None
        else:
            return None
        place = self.size
        self.arrays.append((place, array))
        self.size += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        return place, array.shape, array.dtype, requires_grad


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, memory: mmap.mmap | None) -> None:
        super().__init__(file)
        self._memory = memory

    def persistent_load(self, where: Any) -> Any:
        place, shape, dtype, requires_grad = where
        array: np.ndarray[Any, Any]
        if 0 in shape:
            array = np.empty(shape, dtype)
        else:
            array = np.ndarray(shape, dtype, self._memory, place)
        return array if requires_grad is None else from_numpy(array).requires_grad_(requires_grad)


def send(connection: "Connection[Any, Any]", message: Any) -> None:
    """Send a message over a connection that is a socket."""
    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump(message)
    if not pickler.size:
        connection.send_bytes(bytes(_HEADER) + file.getbuffer())
        return
    descriptor = os.memfd_create("perflab")
    try:
        os.ftruncate(descriptor, pickler.size)
        with mmap.mmap(descriptor, pickler.size) as memory:
            for place, array in pickler.arrays:
                if array.nbytes:
                    np.ndarray(array.shape, array.dtype, memory, place)[...] = array
        connection.send_bytes(pickler.size.to_bytes(_HEADER, "little") + file.getbuffer())
        reduction.send_handle(connection, descriptor, None)
    finally:
        os.close(descriptor)


def receive(connection: "Connection[Any, Any]") -> Any:
    """The next message. Its tensors and arrays are the shared memory, which nobody else changes any more.

    Raises EOFError or OSError when the other side has gone.
    """
    body = connection.recv_bytes()
    size = int.from_bytes(body[:_HEADER], "little")
    memory = None
    if size:
        try:
            descriptor = reduction.recv_handle(connection)
        except RuntimeError as error:  # of the ancillary data: it did not come
            raise EOFError(str(error)) from None
        try:
            memory = mmap.mmap(descriptor, size)
        finally:
            os.close(descriptor)
    return _Unpickler(io.BytesIO(body[_HEADER:]), memory).load()
