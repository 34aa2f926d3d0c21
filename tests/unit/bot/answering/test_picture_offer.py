"""A picture without a word: a person is offered, as nobody here reads a picture."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.answering.escalation_reply import picture_offer
from bot.chat.response_view import response_buttons
from bot.domain.handoff import HANDOFF_QUESTION, PERSON_REQUEST
from bot.domain.interactions import Clarification, Escalation
from bot.domain.messages import Attachment, Inquiry, Stage
from rag.types import Turn
from tests.contract.platforms.scenario import is_sure
from tests.fakes.builders import inquiry, message
from tests.unit.bot.answering.test_desk import Bench, ListIndex

SHOT = Attachment("shot.png", "image/png", 9, "https://files.example/shot.png")
LOG = Attachment("vpn.log", "text/plain", 9, "https://files.example/vpn.log")


def sent(
    *files: Attachment, text: str = "", private: bool = True, overheard: bool = False
) -> Inquiry:
    said = message(text, platform="slack", private=private)
    return inquiry(replace(said, attachments=files, overheard=overheard))


async def _silently(stage: Stage, pages: int = 0) -> None:
    del stage, pages


@pytest.mark.parametrize("private", [True, False])
async def test_a_picture_alone_offers_a_person_by_a_button(*, private: bool) -> None:
    bench = Bench(index=ListIndex([]))
    came = replace(sent(SHOT, private=private), remarks=("I did not read shot.png.",))

    outcome = await bench.handle(came)

    assert isinstance(outcome.response, Clarification)
    assert HANDOFF_QUESTION in outcome.response.text
    assert response_buttons(outcome).ask_person
    assert outcome.remarks == ()


@pytest.mark.parametrize(
    "other",
    [
        sent(SHOT, text="What is this?"),
        sent(SHOT, LOG),
        sent(LOG),
        sent(),
        sent(SHOT, overheard=True),
    ],
)
def test_only_pictures_without_words_are_offered_a_person(other: Inquiry) -> None:
    assert picture_offer(other) is None


def test_a_picture_is_known_by_its_ending_where_no_type_is_told() -> None:
    assert picture_offer(sent(replace(SHOT, media_type="", name="Shot.JPG")))
    assert picture_offer(sent(replace(SHOT, media_type="", name="shot.docx"))) is None


@pytest.mark.parametrize("reply", ["yes", PERSON_REQUEST])
async def test_whoever_accepts_is_asked_about_the_picture_by_name(reply: str) -> None:
    offer = picture_offer(sent(SHOT))
    assert offer is not None
    said = message(reply, platform="slack", private=True)
    before = (
        Turn("user", sent(SHOT).message.asked),
        Turn("assistant", offer.response.text),
    )

    response = (await is_sure().handle(inquiry(said, *before), _silently)).response

    assert isinstance(response, Escalation)
    assert response.reason == "asked_for_human"
    assert "shot.png" in response.question
