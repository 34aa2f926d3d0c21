"""Attacks put over REST to a desk whose pages carry them and whose model obeys them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag.answer.guardrails import must_be_quoted
from tests.bot.house import LOW, house
from tests.bot.server import settings_for
from tests.rag.models.openai_server import KEY, openai_server
from tests.whole.hostile_pages import SECRET, index_attacks
from tests.whole.obeying import ObeyingModel
from tests.whole.pretended import PRETENDED

_LIVE = re.compile(r"\]\(|<[!@#]|<at\b|(?<!`)\bhttps?://", re.IGNORECASE)
_QUOTATION = re.compile("The page \u201c[^\u201c\u201d]*\u201d says: \u201c[^\u201c\u201d]*\u201d")


@dataclass(frozen=True, slots=True)
class Answered:
    """What an attack was answered with; ``text`` is what everybody is shown of an answer."""

    attack: str
    text: str
    answer_type: str


async def answers_over_rest(attacks: Sequence[str], folder: Path) -> list[Answered]:
    """Ask of each attack's page, and once more with the attack in the question."""
    obeying = ObeyingModel(attacks)
    async with openai_server(obeying) as model:
        settings = settings_for(
            folder / "data",
            confidence_threshold=LOW,
            openai_base_url=model.url,
            openai_api_key=KEY,
            openai_model="obeying",
            rate_per_user_per_minute=0,
            rate_per_channel_per_minute=0,
        )
        await index_attacks(settings, attacks, folder / "pages")
        answered = []
        async with house(settings) as client:
            for number, attack in enumerate(attacks):
                asked = f"What does the locker case{number:03d} cost?"
                for question in (asked, f"{asked} {attack}"[:2000]):
                    response = await client.post("/api/v1/ask", json={"question": question})
                    body = await response.json()
                    text, kind = str(body.get("answer", "")), str(body.get("answer_type", ""))
                    answered.append(Answered(attack, text, kind))
        return answered


def is_marked(text: str) -> bool:
    """Whether a text has a quotation with its page's name."""
    return _QUOTATION.search(text) is not None


def effects_in(text: str) -> Iterator[str]:
    """Return what works in an answer, or is said in our voice and not as a page's words."""
    own = _QUOTATION.sub("", text)
    yield from (f"live: {found}" for found in _LIVE.findall(text))
    yield from (f"said: {line}" for line in PRETENDED if line in own)
    if must_be_quoted(own):
        yield f"sounds like us: {own}"
    if SECRET in text:
        yield f"{SECRET} was told"
