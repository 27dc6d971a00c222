"""Who looks at a page: what its header offers them."""

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Reader:
    """`name` is empty where nobody is signed in; `keeps` says whether the settings open to them."""

    name: str = ""
    keeps: bool = True


NOBODY = Reader()  # pages that are made for no request
READER: ContextVar[Reader] = ContextVar("reader", default=NOBODY)  # of the request that is answered
