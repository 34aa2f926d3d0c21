"""Remembers answers for a while: at most so many, and what was not asked for longest goes first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """Values by text. ``clock`` gives seconds that only grow."""

    def __init__(self, *, most: int, clock: Callable[[], float]) -> None:
        self._most = most
        self._clock = clock
        self._values: OrderedDict[str, tuple[float, Value]] = OrderedDict()

    def get(self, key: str) -> Value | None:
        """Return what is kept and still believed; None for nothing."""
        ends, value = self._values.get(key, (float("-inf"), None))
        if ends <= self._clock():
            self._values.pop(key, None)
            return None
        self._values.move_to_end(key)
        return value

    def put(self, key: str, value: Value, *, seconds: float) -> None:
        self._values[key] = (self._clock() + seconds, value)
        self._values.move_to_end(key)
        while len(self._values) > self._most:
            self._values.popitem(last=False)

    def __len__(self) -> int:
        return len(self._values)
