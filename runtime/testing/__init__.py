"""Checks of an op against its declaration: tests/runtime/test_ops.py runs them on every op, check_op on a user's."""

from ..op import sample
from .sweep import KINDS, check_op

__all__ = ["KINDS", "check_op", "sample"]
