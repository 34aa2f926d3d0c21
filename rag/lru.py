"""A dictionary of a bounded size."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class LruDict(OrderedDict[_Key, _Value]):
    """A dictionary of at most ``most`` entries; beyond that, the one set longest ago is dropped.

    Setting a key again makes it the newest; reading it does not.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: _Key, value: _Value) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > self._most:
            self.popitem(last=False)
