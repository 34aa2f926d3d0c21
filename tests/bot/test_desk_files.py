"""A question that comes with files, on its way through the desk."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.answering.desk import Desk
from bot.answering.routing.generic_replies import GenericAnswers
from bot.domain.interactions import Escalation, Reply
from bot.domain.messages import Attached, Attachment, Inquiry, Intent, Stage
from prompts.files import load_prompt
from rag.answer.grounded import GroundedComposer
from rag.pipeline import Pipeline
from tests.bot.test_desk import WORDING, Bench, FixedGate, FixedRouter, ListIndex
from tests.builders import chunk, inquiry, message
from tests.fakes import ScriptedModel
from tests.rag.models.stating import grounded, part

LOG = Attached("vpn.log", "started\nTunnelError: VPN-809: the port is blocked\n17 retries")
ANSWER = grounded(part("The port is blocked.", 1), part("There were 17 retries.", 1))


@pytest.fixture
def bench() -> Bench:
    return Bench(index=ListIndex([chunk("VPN-809: the port is blocked.\nCall IT.")]))


def with_log(text: str = "What does this mean?", file: Attached = LOG) -> Inquiry:
    came = Attachment(file.name, "text/plain", len(file.text), "https://files.example/vpn.log")
    asked = replace(message(text), attachments=(came,))
    return replace(inquiry(asked), attached=(file,))


async def test_the_index_is_asked_for_the_question_and_the_line_that_tells(bench: Bench) -> None:
    await bench.handle(with_log())

    (question, _), *_ = bench.index.searched
    assert question.text.startswith("What does this mean? ")
    assert "VPN-809" in question.text
    assert "started" not in question.text


async def test_what_is_recorded_holds_no_line_of_the_file(bench: Bench) -> None:
    bench.sure = 0.1
    secret = Attached("vpn.log", "Error: password hunter2 refused")

    outcome = await bench.handle(with_log(file=secret))

    assert "hunter2" in bench.index.searched[0][0].text
    assert "hunter2" not in repr(outcome)


async def test_a_file_without_a_word_is_asked_about(bench: Bench) -> None:
    bench.intent = Intent.GENERIC

    outcome = await bench.handle(with_log(text=" "))

    assert isinstance(outcome.response, Reply)
    assert outcome.trace.route.intent is Intent.DOMAIN
    assert outcome.trace.route.question == "vpn.log"
    assert bench.index.searched[0][0].text == "TunnelError: VPN-809: the port is blocked"


async def test_small_talk_with_a_file_is_about_the_file(bench: Bench) -> None:
    bench.intent = Intent.GENERIC

    outcome = await bench.handle(with_log(text="Hi!"))

    assert outcome.trace.route.intent is Intent.UNKNOWN
    assert bench.index.searched


async def test_small_talk_with_a_file_that_was_not_read_is_small_talk(bench: Bench) -> None:
    bench.intent = Intent.GENERIC
    unread = replace(with_log(text="Hi!"), attached=(), remarks=("I did not read a.png.",))

    outcome = await bench.handle(unread)

    assert isinstance(outcome.response, Reply)
    assert outcome.response.tone == "generic"
    assert outcome.remarks == ("I did not read a.png.",)


@pytest.mark.parametrize(
    ("text", "put"),
    [("Who knows this?", "Who knows this?\n(with vpn.log)"), ("", "(with vpn.log)")],
)
async def test_people_are_told_which_file_came_with_the_question(
    bench: Bench, text: str, put: str
) -> None:
    bench.sure = 0.1

    response = (await bench.handle(with_log(text=text))).response

    assert isinstance(response, Escalation)
    assert response.question == put


async def test_a_model_reads_the_file_and_may_take_no_figure_from_it(bench: Bench) -> None:
    model = ScriptedModel(lambda _: ANSWER)
    composer = GroundedComposer(
        model, load_prompt("answer"), attached_prompt=load_prompt("answer_attached")
    )
    desk = Desk(
        router=FixedRouter(Intent.DOMAIN),
        generic=GenericAnswers(None),
        pipeline=Pipeline(bench.index, None, composer),  # type: ignore[arg-type]  # what it calls
        gate=FixedGate(0.9),
        wording=WORDING,
    )

    async def report(stage: Stage, pages: int = 0) -> None:
        del stage, pages

    outcome = await desk.handle(with_log(), report)

    assert "(vpn.log)\nstarted\nTunnelError" in model.prompts[0].messages[1].content
    assert isinstance(outcome.response, Reply)
    assert outcome.response.text == "The port is blocked. [1]"
