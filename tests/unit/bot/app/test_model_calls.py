"""How often a model is asked for one question, and what is shown of one in another language."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from bot.answering.desk import Desk
from bot.app.components import open_components
from bot.domain.interactions import Escalation, Outcome, Reply
from bot.domain.messages import Inquiry, Stage
from rag.retrying import MOST_CALLS
from rag.types import EVERYONE, Chunk, Principal, Turn
from tests.fakes.builders import inquiry, message
from tests.fakes.http_server import LOW, settings_for, write_index
from tests.fakes.model_server import (
    KEY,
    answer_json,
    answer_part,
    completion,
    line_of,
    openai_server,
)
from tests.fakes.rag_ports import understood

ENGLISH = "What does VPN error 809 mean?"
GERMAN = "Was bedeutet der VPN-Fehler 809 und was hilft dagegen?"
SAID = "Error 809 means that the office router blocks UDP port 4500."
TRANSLATED = "Der Fehler 809 bedeutet, dass der Router im Büro den UDP-Port 4500 sperrt."
EARLIER = (Turn("user", "how do I set up the VPN?", "e1"), Turn("assistant", "In the portal."))
ADMIN = frozenset({EVERYONE, Principal("group:admins")})
FOR_ADMINS = "VPN error 809 means for admins that the gateway is down."
VAULT = f"---\nreaders: [group:admins]\n---\n# VPN error 809 for admins\n\n{FOR_ADMINS}\n"
PAGES = {
    "vpn.md": f"# VPN\n\n## VPN error 809\n\n{SAID} Plug the cable into the blue socket.\n",
    "old.md": "# Old VPN\n\n## VPN error 809 before\n\nVPN error 809 meant a bad cable.\n",
    "vault.md": VAULT,
}


@dataclass
class Model:
    """Understands every message as its own question, and answers with the first fitting line.

    ``garbage``: so many of its answers from passages can't be used.
    """

    garbage: int = 0
    understands: bool = True
    asked: list[str] = field(default_factory=list)

    async def __call__(self, _: web.Request, body: dict[str, object]) -> web.StreamResponse:
        messages = body["messages"]
        assert isinstance(messages, list)
        prompt = str(next(m for m in messages[1:] if m["role"] == "user")["content"])
        return web.json_response(completion(self._said(prompt)))

    def _said(self, prompt: str) -> str:
        if "<<wiki" in prompt:
            self.asked.append("understand")
            query = ENGLISH if GERMAN in prompt else ""
            language = "de" if query else "en"
            told = understood(question=ENGLISH, language=language, search_query=query)
            return told if self.understands else "Certainly!"
        self.asked.append("answer")
        if self.garbage:
            self.garbage -= 1
            return "Certainly!"
        text = SAID if line_of(prompt, SAID) else FOR_ADMINS
        if not line_of(prompt, text):
            return answer_json()
        part = answer_part(text, line_of(prompt, text))
        return answer_json({**part, "translation": TRANSLATED if text == SAID else ""})


@dataclass
class Closing:
    """A check at the source by which some pages have just been closed."""

    closed: Collection[str]

    async def readable_chunk_ids(
        self, tenant: str, chunks: Sequence[Chunk], readers: frozenset[Principal]
    ) -> frozenset[str]:
        del tenant, readers
        return frozenset(each.id for each in chunks if each.page_id not in self.closed)


async def silently(stage: Stage, pages: int = 0) -> None:
    """Report nothing."""


async def handled(
    model: Model, asked: Inquiry, folder: Path, closed: Collection[str] = (), **settings: object
) -> tuple[Outcome, int]:
    """Return what becomes of an inquiry, and how often the model was asked for it."""
    async with openai_server(model) as server:
        made = settings_for(
            folder / "data",
            confidence_threshold=LOW,
            openai_base_url=server.url,
            openai_api_key=KEY,
            openai_model="counted",
            **settings,
        )
        await write_index(made, folder / "pages", PAGES)
        async with open_components(made, recheck=Closing(closed) if closed else None) as parts:
            outcome = await parts.desk.handle(asked, silently)
        return outcome, len(server.seen)


def said(text: str, *history: Turn, private: bool = True) -> Inquiry:
    return inquiry(message(text, private=private, principals=ADMIN), *history)


@pytest.mark.parametrize(
    ("asked", "garbage", "closed", "calls"),
    [
        (said(ENGLISH), 0, (), ["answer"]),
        (said("and error 809?", *EARLIER), 0, (), ["understand", "answer"]),
        (said("zorgle the frimbus 809"), 0, (), ["understand", "answer"]),
        (said(GERMAN), 0, (), ["understand", "answer"]),
        (said(ENGLISH), 1, (), ["answer"] * 2),
        (said(GERMAN), 1, (), ["understand", "answer", "answer"]),
        (said(ENGLISH, private=False), 0, (), ["answer"] * 2),
        (said(GERMAN, private=False), 0, (), ["understand", "answer", "answer"]),
        (said(GERMAN, private=False), 1, (), ["understand", *["answer"] * 3]),
        (said(ENGLISH), 0, ("vpn.md",), ["answer"] * 2),
        (said(GERMAN), 1, ("vpn.md",), ["understand", *["answer"] * 3]),
        (said(GERMAN, private=False), 1, ("vpn.md",), ["understand", *["answer"] * 3]),
        (said(ENGLISH, private=False), 9, ("vpn.md",), ["answer"] * 4),
        (said(GERMAN, private=False), 9, ("vpn.md",), ["understand", *["answer"] * 3]),
    ],
    ids=[
        "plain",
        "follow-up",
        "grey band",
        "German",
        "repair",
        "German, repair",
        "private addition",
        "German, private addition",
        "German, repair, private addition",
        "failing last check",
        "German, repair, failing last check",
        "German, repair, failing last check, private addition",
        "garbage, failing last check, private addition",
        "German, garbage, failing last check, private addition",
    ],
)
async def test_a_question_takes_no_more_calls_than_it_may(
    tmp_path: Path, asked: Inquiry, garbage: int, closed: Collection[str], calls: list[str]
) -> None:
    model = Model(garbage)

    outcome, seen = await handled(model, asked, tmp_path, closed)

    assert model.asked == calls
    assert seen == len(calls) <= MOST_CALLS
    assert not any(each in json.dumps(outcome.response.text) for each in closed)


async def test_a_message_that_is_not_understood_is_not_asked_about_again(tmp_path: Path) -> None:
    model = Model(understands=False)

    outcome, _ = await handled(model, said("and error 809?", *EARLIER), tmp_path)

    assert model.asked == ["understand", "answer"]
    assert isinstance(outcome.response, Reply)


async def test_with_no_call_left_a_closed_page_is_answered_without(tmp_path: Path) -> None:
    model = Model(garbage=1)
    asked = inquiry(message(GERMAN))

    outcome, _ = await handled(model, asked, tmp_path, ("vpn.md", "old.md"))

    assert SAID not in outcome.response.text
    assert len(model.asked) <= MOST_CALLS


async def test_a_german_question_is_answered_with_quotations_and_a_translation(
    tmp_path: Path,
) -> None:
    outcome, _ = await handled(Model(), inquiry(message(GERMAN)), tmp_path)

    reply = outcome.response
    assert isinstance(reply, Reply)
    quoted, translated = reply.text.index(f"> {SAID}"), reply.text.index(TRANSLATED)
    assert quoted < reply.text.index("nicht geprüft") < translated
    assert (reply.translation and reply.translation.text) == TRANSLATED
    assert reply.sources[0].quote in PAGES["vpn.md"]
    assert outcome.trace.route.search_query == ENGLISH


async def test_what_was_translated_is_never_sure(tmp_path: Path) -> None:
    english, _ = await handled(Model(), inquiry(message(ENGLISH)), tmp_path / "en")
    german, _ = await handled(Model(), inquiry(message(GERMAN)), tmp_path / "de")

    assert isinstance(english.response, Reply)
    assert isinstance(german.response, Reply)
    assert english.response.confidence_level == "sure"
    assert german.response.confidence_level == "partial"


async def test_a_german_question_whose_answer_fails_is_quoted_without_the_model(
    tmp_path: Path,
) -> None:
    outcome, _ = await handled(Model(garbage=9), inquiry(message(GERMAN)), tmp_path)

    reply = outcome.response
    assert isinstance(reply, Reply)
    assert (reply.tone, reply.translation) == ("found", None)
    assert reply.confidence_level == "partial"
    assert outcome.remarks


@asynccontextmanager
async def without_model(folder: Path, pages: dict[str, str]) -> AsyncIterator[Desk]:
    made = settings_for(folder / "data", confidence_threshold=LOW)
    await write_index(made, folder / "pages", pages)
    async with open_components(made) as parts:
        yield parts.desk


@pytest.mark.parametrize("private", [True, False])
async def test_without_a_model_a_german_question_gets_a_line_in_german(
    tmp_path: Path, *, private: bool
) -> None:
    asked = inquiry(message("Wie viele Urlaubstage habe ich im Jahr?", private=private))
    async with without_model(tmp_path, PAGES) as desk:
        outcome = await desk.handle(asked, silently)

    assert isinstance(outcome.response, Escalation)
    assert outcome.response.statement.startswith("Ich kann unser Wiki nur")
    assert ("Oder soll ich" in outcome.response.text) is private


async def test_without_a_model_a_code_still_finds_its_section_as_a_guess(tmp_path: Path) -> None:
    asked = inquiry(message(GERMAN))
    async with without_model(tmp_path, PAGES) as desk:
        outcome = await desk.handle(asked, silently)

    assert isinstance(outcome.response, Reply)
    assert outcome.response.confidence_level == "unsure"
