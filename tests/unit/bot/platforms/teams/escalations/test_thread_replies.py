"""Test what becomes of what experts write in the threads of cases in Teams."""

from __future__ import annotations

import pytest

from bot.chat.thread_replies import THREAD_IS_ASKED_ABOUT
from bot.domain.cases import THREAD_NOT_READ
from tests.fakes.scenarios import BEN
from tests.fakes.teams import names
from tests.fakes.teams.builders import CaseScenario
from tests.fakes.teams.people import personal_chat
from tests.fakes.teams.posts import Sent, Written

ANSWER = "The blue socket is right."


@pytest.fixture
async def heard(scene: CaseScenario) -> CaseScenario:
    """Return a case in a tenant that granted the permission to read channels."""
    scene.teams.hears_all = True
    await scene.ask()
    return scene


async def below_card(scene: CaseScenario, person: str = names.ANNA) -> Written:
    """Write in the thread of the card, without a mention of the bot."""
    return await scene.visitor(person).say(scene.card, ANSWER, mention=False)


async def in_thread(scene: CaseScenario, person: str = names.ANNA) -> Written:
    """Write in the thread of the question, without a mention of the bot."""
    reply = scene.teams.posts_in(names.HELP)[0]
    return await scene.visitor(person).say(reply, ANSWER, mention=False)


def offers(scene: CaseScenario, person: str = names.ANNA) -> list[Sent]:
    """Return the offers in a person's chat, and those below the card."""
    chat = scene.teams.posts_in(personal_chat(person).id)
    return [post for post in (*chat, *scene.in_people) if post.cards and post != scene.card]


@pytest.mark.mended(id="slack-1a")
async def test_what_is_written_below_a_card_is_sent_once_its_author_says_so(
    heard: CaseScenario,
) -> None:
    await heard.visitor().install()
    await below_card(heard)
    (offer,) = offers(heard)
    assert offer.conversation == personal_chat(names.ANNA).id
    assert ANSWER in offer.shown
    assert await heard.history() == []

    await heard.visitor().press(offer, "Send")
    await heard.news()
    (reply,) = await heard.history()
    assert (reply.step, reply.text) == ("reply", ANSWER)
    assert heard.told[0].text == f"**Anna Lopez** replied:\n\n{ANSWER}"
    assert "Sent to" in heard.seen_by(names.ANNA, offer)


async def test_without_a_chat_the_offer_is_below_the_card_for_its_author_alone(
    heard: CaseScenario,
) -> None:
    await below_card(heard)
    (offer,) = offers(heard)
    assert (offer.place, offer.thread) == (names.PEOPLE, heard.card.id)
    assert "Anna Lopez: Send this to" in offer.shown

    await heard.visitor(names.BOB).press(offer, "Send")
    assert await heard.history() == []
    await heard.visitor().press(offer, "Send")
    assert [step.text for step in await heard.history()] == [ANSWER]


@pytest.mark.mended(id="slack-1b")
async def test_an_answer_in_the_askers_thread_marks_the_case(heard: CaseScenario) -> None:
    await in_thread(heard)
    (offer,) = offers(heard)
    await heard.visitor().press(offer, "Mark as answered")
    await heard.news()

    (reply,) = await heard.history()
    assert (reply.text, reply.detail.in_thread) == (ANSWER, True)
    assert heard.told[0].text == "**Anna Lopez** replied in this thread."


async def test_in_the_askers_thread_only_who_sees_the_card_is_asked(heard: CaseScenario) -> None:
    heard.teams.conversations[names.PEOPLE].members.discard(names.BOB)
    for person in (names.ALICE, names.BOB):
        await in_thread(heard, person)
        assert not offers(heard, person)


async def test_nobody_is_asked_about_the_case_of_another(heard: CaseScenario) -> None:
    await heard.act("claim", BEN)
    await below_card(heard)
    await in_thread(heard)
    assert not offers(heard)


async def test_an_edit_and_a_deletion_follow_what_was_sent(heard: CaseScenario) -> None:
    written = await below_card(heard)
    (offer,) = offers(heard)
    await heard.visitor().press(offer, "Send")
    await heard.news()

    await heard.visitor().edit(written, "The red socket.")
    await heard.news()
    assert "The red socket." in heard.told[0].shown
    assert ANSWER not in heard.told[0].shown

    await heard.visitor().delete(written)
    await heard.news()
    assert heard.told[0].text == "**Anna Lopez** retracted the answer."
    assert [step.step for step in await heard.history()] == ["reply", "amend", "retract"]
    assert (await heard.case()).status.state == "claimed"


async def test_a_card_says_whether_its_thread_is_read(heard: CaseScenario) -> None:
    assert THREAD_NOT_READ in heard.card.shown
    await below_card(heard)
    await heard.act("claim")
    await heard.news()
    assert THREAD_IS_ASKED_ABOUT in heard.card.shown


async def test_a_pressed_card_says_so_of_its_own_channel(scene: CaseScenario) -> None:
    await scene.ask()
    await scene.channel.people.note_read(scene.context.tenant, names.GENERAL)
    await scene.visitor().press(scene.card, "Claim")
    assert THREAD_NOT_READ in scene.seen_by(names.ANNA)


@pytest.mark.parametrize("delete", [False, True])
async def test_a_change_that_comes_before_its_message_is_followed(
    heard: CaseScenario, *, delete: bool
) -> None:
    anna = heard.visitor()
    anna.held = []
    written = await anna.say(heard.card, ANSWER, mention=False)
    await (anna.delete(written) if delete else anna.edit(written, "The red socket."))
    first, change = anna.held
    for activity in (change, first):
        await anna.deliver(activity)
    assert len(offers(heard)) == (0 if delete else 1)
    if not delete:
        await anna.press(offers(heard)[0], "Send")
        assert [step.text for step in await heard.history()] == ["The red socket."]
