"""What a model server gets of a question with personal data, and what its asker gets back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from aiohttp import web

from bot.app.components import open_components
from bot.domain.interactions import Outcome, Reply
from bot.domain.messages import Inquiry, Stage
from rag.types import Turn
from tests.fakes.builders import inquiry, message
from tests.fakes.http_server import LOW, settings_for, write_index
from tests.fakes.model_server import (
    KEY,
    OpenAIServer,
    answer_json,
    answer_part,
    completion,
    line_of,
    openai_server,
)
from tests.fakes.rag_ports import understood

MAIL, PHONE, NAME = "anna.schmidt@example.com", "+49 30 901820", "Anna Schmidt"
SAID = "A full mailbox gets no mail until it is emptied."
PAGES = {"mail.md": f"# Mail\n\n## Mailbox is full\n\n{SAID}\n"}
ASKED = f"Why does the mailbox {MAIL} get no mail? Call {NAME} on {PHONE}."
MASKED = "Why does the mailbox [EMAIL_1] get no mail? Call [PERSON_1] on [PHONE_1]."


OF_NAME = f"Why does the full mailbox of {NAME} get no mail?"


async def answer(_: web.Request, body: dict[str, object]) -> web.StreamResponse:
    """Understand a message as one about a mailbox, and answer with the name of its owner."""
    messages = body["messages"]
    assert isinstance(messages, list)
    prompt = str(messages[-1]["content"])
    if "<<wiki" in prompt:
        return web.json_response(completion(understood(question="Why no mail for [EMAIL_1]?")))
    text = SAID.replace("mailbox", "mailbox of [PERSON_1]")
    part = answer_part(text, line_of(prompt, SAID))
    return web.json_response(completion(answer_json(part)))


async def handled(asked: Inquiry, folder: Path, **settings: object) -> tuple[Outcome, OpenAIServer]:
    async def silently(stage: Stage, pages: int = 0) -> None:
        """Report nothing."""

    async with openai_server(answer) as server:
        made = settings_for(
            folder / "data",
            confidence_threshold=LOW,
            openai_base_url=server.url,
            openai_api_key=KEY,
            openai_model="masked",
            **settings,
        )
        await write_index(made, folder / "pages", PAGES)
        async with open_components(made) as parts:
            if parts.names is not None:
                parts.names.learn([NAME])
            return await parts.desk.handle(asked, silently), server


def sent(server: OpenAIServer) -> str:
    return json.dumps([each.body["messages"] for each in server.seen], ensure_ascii=False)


async def test_a_model_server_gets_placeholders_alone(tmp_path: Path) -> None:
    _, server = await handled(inquiry(message(ASKED)), tmp_path, pii_masking="always")

    assert MASKED in sent(server)
    for value in (MAIL, PHONE, NAME):
        assert value not in sent(server)


async def test_the_asker_gets_the_values_back(tmp_path: Path) -> None:
    outcome, server = await handled(inquiry(message(OF_NAME)), tmp_path, pii_masking="always")

    assert NAME not in sent(server)
    assert isinstance(outcome.response, Reply)
    assert f"A full mailbox of {NAME} gets no mail" in outcome.response.text


async def test_the_trace_has_the_masked_question_and_no_value(tmp_path: Path) -> None:
    outcome, _ = await handled(inquiry(message(ASKED)), tmp_path, pii_masking="always")

    assert outcome.trace.masked_question == MASKED
    assert outcome.trace.masked == ("EMAIL_1", "PERSON_1", "PHONE_1")


async def test_what_was_said_before_is_masked_and_searched_for_as_it_was_said(
    tmp_path: Path,
) -> None:
    earlier = (Turn("user", f"my mailbox is {MAIL}", "e1"), Turn("assistant", "It is full."))
    follow_up = inquiry(message("and why no mail?"), *earlier)
    outcome, server = await handled(follow_up, tmp_path, pii_masking="always")

    assert MAIL not in sent(server)
    assert outcome.trace.route.question == f"Why no mail for {MAIL}?"
    assert outcome.trace.masked_question is None


async def test_one_way_the_asker_reads_the_kind_of_what_was_masked(tmp_path: Path) -> None:
    outcome, _ = await handled(
        inquiry(message(OF_NAME)), tmp_path, pii_masking="always", pii_masking_reversible=False
    )

    assert isinstance(outcome.response, Reply)
    assert "A full mailbox of (person) gets no mail" in outcome.response.text


async def test_a_claim_with_an_invented_placeholder_is_dropped(tmp_path: Path) -> None:
    asked = inquiry(message("Why does a full mailbox get no mail?"))
    outcome, _ = await handled(asked, tmp_path, pii_masking="always")

    assert "PERSON" not in outcome.response.text
    assert SAID not in outcome.response.text


async def test_a_model_on_this_machine_gets_the_question_as_it_is(tmp_path: Path) -> None:
    outcome, server = await handled(inquiry(message(ASKED)), tmp_path)

    assert MAIL in sent(server)
    assert outcome.trace.masked_question is None


async def test_the_asker_is_known_by_name_without_any_directory(tmp_path: Path) -> None:
    said = message("I am Pradeep Kumar, why does my mailbox get no mail?")
    said = replace(said, author=replace(said.author, name="Pradeep Kumar"))
    outcome, server = await handled(inquiry(said), tmp_path, pii_masking="always")

    assert "Pradeep" not in sent(server)
    assert outcome.trace.masked_question == "I am [PERSON_1], why does my mailbox get no mail?"
