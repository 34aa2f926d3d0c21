"""What people press in the web chat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tests.conformance.platforms import Question, Receipt

_CHOSEN = 1000
"""The number of the question that a button asks."""


class Page(Protocol):
    """The exchanges of a conversation, as a browser has them."""

    async def ask(self, question: Question) -> Receipt: ...

    async def read(self, question: Question, part: str) -> str: ...

    async def press(self, question: Question, part: str) -> None: ...

    async def options(self, question: Question) -> Sequence[str]: ...


class WebButtons:
    """Implements Buttons."""

    def __init__(self, page: Page) -> None:
        self._page = page

    async def why(self, question: Question) -> str:
        return await self._page.read(question, "why")

    async def ask_person(self, question: Question) -> None:
        await self._page.press(question, "person")

    async def choose(self, question: Question, option: str) -> None:
        assert option in await self._page.options(question)
        await self._page.ask(Question(option, number=_CHOSEN, thread=question.thread))
