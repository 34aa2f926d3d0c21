"""What can be made to go wrong, call by call."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

from tests.search_service.documents import Result
from tests.search_service.errors import Refused
from tests.search_service.semantic import Partial

Cut = Literal["before", "after"]
_WORDS = {
    429: "You are sending too many requests. Please try again later.",
    503: "The service is temporarily unavailable.",
    500: "Something went wrong.",
}


@dataclass(slots=True)
class Fault:
    """Something that happens to the next ``times`` calls of a kind; None: to all kinds.

    status: What is answered instead. seconds: How late it is answered. cut: The connection ends,
    before or after the call is done. hang: Nothing is ever answered.
    """

    kind: str | None
    times: int
    status: int | None = None
    retry_after: str | None = None
    seconds: float = 0.0
    cut: Cut | None = None
    hang: bool = False

    def refusal(self) -> Refused | None:
        if self.status is None:
            return None
        refused = Refused(self.status, "", _WORDS.get(self.status, "Refused by the test."))
        if self.retry_after is not None:
            refused.headers["Retry-After"] = self.retry_after
        return refused


@dataclass(slots=True)
class ItemFault:
    """Actions that fail inside a batch that is otherwise done (207); None: whichever key."""

    status: int
    times: int
    keys: frozenset[str] | None


@dataclass(slots=True)
class Faults:
    """All that is to go wrong. ``largest_body``: bytes of a request that are still taken."""

    largest_body: int = 16 * 1024 * 1024
    _calls: list[Fault] = field(default_factory=list)
    _items: list[ItemFault] = field(default_factory=list)
    _partial: list[Partial] = field(default_factory=list)

    def refuse(
        self, kind: str | None, status: int, *, times: int = 1, retry_after: str | None = None
    ) -> None:
        """Answer the next calls of a kind with this status."""
        self._calls.append(Fault(kind, times, status=status, retry_after=retry_after))

    def slow(self, kind: str | None, seconds: float, *, times: int = 1) -> None:
        self._calls.append(Fault(kind, times, seconds=seconds))

    def hang(self, kind: str | None, *, times: int = 1) -> None:
        self._calls.append(Fault(kind, times, hang=True))

    def cut(self, kind: str | None, when: Cut, *, times: int = 1) -> None:
        """End the connection without an answer: nobody knows whether it was done."""
        self._calls.append(Fault(kind, times, cut=when))

    def fail_items(
        self, status: int, *, times: int = 1, keys: Collection[str] | None = None
    ) -> None:
        """Fail the next actions, of these keys, within their batches."""
        self._items.append(ItemFault(status, times, None if keys is None else frozenset(keys)))

    def degrade(self, partial: Partial, *, times: int = 1) -> None:
        """Answer the next semantic searches with 206."""
        self._partial.extend([partial] * times)

    def clear(self) -> None:
        """Let everything go well again."""
        for pending in (self._calls, self._items, self._partial):
            pending.clear()

    def next_of(self, kind: str) -> Fault | None:
        """Return what happens to this call, which uses it up."""
        for fault in self._calls:
            if fault.kind in {None, kind} and fault.times > 0:
                fault.times -= 1
                return fault
        return None

    def of_item(self, key: str) -> Result | None:
        for fault in self._items:
            if fault.times > 0 and (fault.keys is None or key in fault.keys):
                fault.times -= 1
                return Result(key, fault.status, "The action failed; try again.")
        return None

    def next_partial(self) -> Partial | None:
        return self._partial.pop(0) if self._partial else None
