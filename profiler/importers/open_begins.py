"""Begins of slices that wait for their ends, found by name: a file may hold thousands that never end."""

from collections import defaultdict
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class OpenBegins(Generic[T]):
    """The open begins of one thread, the innermost last. No name, or no category, is None."""

    def __init__(self) -> None:
        self._opened: list[tuple[Hashable, Hashable, T] | None] = []  # None: it has ended
        # By name and category: places of the open ones.
        self._places: dict[Hashable, dict[Hashable, list[int]]] = defaultdict(lambda: defaultdict(list))

    def add(self, name: Hashable, category: Hashable, begin: T) -> None:
        """Take a begin."""
        self._places[name][category].append(len(self._opened))
        self._opened.append((name, category, begin))

    def take(self, name: Hashable, category: Hashable) -> T | None:
        """The innermost begin that an end may mean, as Perfetto matches them: an end without a name or category means
        any, and so does a begin without a name."""
        place = self._innermost(name, category)
        told = self._opened[place] if place >= 0 else None
        if told is None:
            return None
        self._opened[place] = None
        self._places[told[0]][told[1]].pop()
        while self._opened and self._opened[-1] is None:
            self._opened.pop()
        return told[2]

    def _innermost(self, name: Hashable, category: Hashable) -> int:
        if name is not None:
            return max(self._last(name, category), self._last(None, category))
        if category is None:
            return len(self._opened) - 1
        return max((self._last(known, category) for known in self._places), default=-1)

    def _last(self, name: Hashable, category: Hashable) -> int:
        if name not in self._places:
            return -1
        of_name = self._places[name]
        if category is None:
            return max((places[-1] for places in of_name.values() if places), default=-1)
        places = of_name.get(category)
        return places[-1] if places else -1

    def left(self) -> list[T]:
        """Those that are still open."""
        return [told[2] for told in self._opened if told is not None]
