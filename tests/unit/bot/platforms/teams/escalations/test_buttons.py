"""Test what people do on a card, and what an asker does about their question."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.chat.actions import LATER
from bot.domain.cases import Actor
from bot.domain.errors import StoreUnavailable
from bot.domain.interactions import Escalation
from bot.store.database import Store
from tests.fakes.desk import HANDED_OVER
from tests.fakes.teams import names
from tests.fakes.teams.activities import question
from tests.fakes.teams.builders import CaseScenario
from tests.fakes.teams.exchange import Fault
from tests.fakes.teams.people import Human
from tests.sweeps.sizes import sizes
from tests.unit.bot.platforms.teams.escalations.conftest import Process

TAKEN = "It is assigned to Anna Lopez. Leave it to them or ask them to release it."


async def test_a_claim_is_taken_shown_and_told(scene: CaseScenario) -> None:
    await scene.ask()
    answer = await scene.visitor().press(scene.card, "Claim")
    assert answer.status == 200
    assert (await scene.case()).status.owner_id == "anna@acme.example"
    await scene.news()
    assert "Claimed by Anna Lopez" in scene.card.shown
    assert scene.told[0].text == "**Anna Lopez** is working on your question."


async def test_who_presses_sees_the_card_as_it_is_at_once_and_others_with_the_edit(
    scene: CaseScenario,
) -> None:
    await scene.ask()
    await scene.visitor().press(scene.card, "Claim")
    assert "Claimed by Anna Lopez" in scene.seen_by(names.ANNA)
    assert "Waiting" in scene.seen_by(names.BOB)
    await scene.news()
    assert "Claimed by Anna Lopez" in scene.seen_by(names.BOB)


async def test_who_acts_in_teams_is_who_acts_on_slack_and_on_the_board(scene: CaseScenario) -> None:
    await scene.ask()
    await scene.visitor().press(scene.card, "Claim")
    elsewhere = Actor("anna@acme.example", "Anna Lopez", "expert", frozenset({"slack:U0ANNA000"}))
    await scene.act("reply", elsewhere, "Room 3.")
    await scene.news()
    await scene.visitor().press(scene.card, "Release")
    assert (await scene.case()).status.state == "open"


async def test_an_expert_who_asked_it_themselves_is_their_own_asker(scene: CaseScenario) -> None:
    await scene.ask()
    alice = scene.visitor(names.ALICE)
    await alice.press(scene.card, "Resolve")
    assert (await scene.case()).status.state == "resolved"
    assert [step.actor and step.actor.id for step in await scene.history()] == [
        "alice@acme.example"
    ]


async def test_resolve_and_release_are_done_at_once(scene: CaseScenario) -> None:
    await scene.ask()
    anna = scene.visitor()
    for title in ("Claim", "Release", "Resolve"):
        await anna.press(scene.card, title)
    assert [step.step for step in await scene.history()] == ["claim", "release", "resolve"]


async def test_a_lost_race_says_who_has_it_and_shows_the_card_as_it_is(scene: CaseScenario) -> None:
    await scene.ask()
    await scene.act("claim")
    answer = await scene.visitor(names.BOB).press(scene.card, "Claim")
    assert answer.status == 200
    seen = scene.seen_by(names.BOB)
    assert TAKEN in seen
    assert "Claimed by Anna Lopez" in seen
    await scene.channel.background.finish()
    assert "Claimed by Anna Lopez" in scene.card.shown
    assert TAKEN not in scene.card.shown, "it is for who pressed alone"


async def test_a_reply_is_written_on_the_card_and_posted_in_the_persons_name(
    scene: CaseScenario,
) -> None:
    await scene.ask()
    anna = scene.visitor()
    await anna.press(scene.card, "Reply > Send", reply_words=" The blue socket. ")
    assert "Answered by Anna Lopez" in scene.seen_by(names.ANNA)
    await scene.news()
    (told,) = scene.told
    assert told.text == "**Anna Lopez** replied:\n\nThe blue socket."
    assert "Anna Lopez replied: The blue socket." in scene.card.shown


async def test_why_it_is_not_for_them_is_asked_for(scene: CaseScenario) -> None:
    await scene.ask()
    anna = scene.visitor()
    await anna.press(scene.card, "Not for us > Send", decline_words="Ask facilities.")
    await scene.news()
    assert scene.told[0].text.endswith("can't help with your question:\n\nAsk facilities.")
    assert "Declined by Anna Lopez" in scene.card.shown
    assert scene.card.labels == []


async def test_the_same_form_sent_twice_is_one_reply(scene: CaseScenario) -> None:
    await scene.ask()
    anna = scene.visitor()
    await anna.press(scene.card, "Reply > Send", reply_words="Once.")
    answers = await anna.deliver(*(anna.sent[-1] for _ in range(3)))
    assert {each.status for each in answers} == {200}
    assert [step.text for step in await scene.history()] == ["Once."]


async def test_the_same_words_on_the_card_that_came_after_are_another_reply(
    scene: CaseScenario,
) -> None:
    await scene.ask()
    anna = scene.visitor()
    for title in ("Reply > Send", "Reply again > Send"):
        await anna.press(scene.card, title, reply_words="Again.")
    assert [step.text for step in await scene.history()] == ["Again.", "Again."]


@pytest.mark.parametrize("broken", ["first", "put"])
async def test_a_form_that_was_cut_short_is_sent_once_by_trying_again(
    scene: CaseScenario, store: Store, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    await scene.ask()
    anna = scene.visitor()

    async def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("The record is away.")

    with monkeypatch.context() as cut:
        cut.setattr(store.notes, broken, away)
        await anna.press(scene.card, "Reply > Send", reply_words="Once.")
    assert "try again" in anna.told[-1]
    await anna.press(scene.card, "Reply > Send", reply_words="Once.")
    assert [step.text for step in await scene.history()] == ["Once."]


async def test_who_was_beaten_while_writing_keeps_their_words(scene: CaseScenario) -> None:
    await scene.ask()
    bob = scene.visitor(names.BOB)
    await scene.act("claim")
    await bob.press(scene.card, "Reply > Send", reply_words="Mine.\nAll of it.")
    seen = scene.seen_by(names.BOB).splitlines()
    assert seen[:4] == [TAKEN, "You wrote:", "Mine.", "All of it."]
    assert [step.step for step in await scene.history()] == ["claim"]


async def test_blank_words_are_refused_in_words(scene: CaseScenario) -> None:
    await scene.ask()
    await scene.visitor().press(scene.card, "Reply > Send", reply_words="  ")
    assert "The reply is empty." in scene.seen_by(names.ANNA)
    assert not await scene.history()


async def test_guests_see_the_card_and_do_nothing(scene: CaseScenario) -> None:
    await scene.ask(response=replace_people(names.GUESTS))
    (card,) = scene.teams.posts_in(names.GUESTS)
    guest = scene.visitor(names.GUEST)
    await guest.press(card, "Claim")
    assert guest.told == ["Only colleagues can do this here."]
    assert not await scene.history()


async def test_a_card_is_pressed_where_people_were_asked(scene: CaseScenario) -> None:
    await scene.ask()
    anna = scene.visitor()
    await anna.press(scene.card, "Claim")
    forged = _copied(anna.sent[-1], names.HELP)
    (answer,) = await anna.deliver(forged)
    assert "That question is no longer here" in answer.text


async def test_a_button_that_names_nothing_we_know_is_refused_in_words(scene: CaseScenario) -> None:
    await scene.ask()
    anna = scene.visitor()
    await anna.press(scene.card, "Claim")
    for about in ("", "x", "00000000-0000-5000-8000-000000000000"):
        forged = _named(anna.sent[-1], about)
        (answer,) = await anna.deliver(forged)
        assert answer.status == 200
        assert "no longer" in answer.text


async def test_a_question_that_was_withdrawn_is_told_as_such(
    scene: CaseScenario, store: Store
) -> None:
    await scene.ask()
    card, anna = scene.card, scene.visitor()
    await store.work.cancel(scene.question.interaction_id)
    await anna.press(card, "Claim")
    assert "That question is no longer here" in anna.told[-1]


async def test_a_card_whose_place_a_dying_process_did_not_note_is_found_by_pressing_it(
    scene: CaseScenario, store: Store
) -> None:
    await scene.ask()
    key = f"teams:card:{scene.question.interaction_id}"
    await store.notes.put("acme", key, names.PEOPLE)
    await scene.visitor().press(scene.card, "Claim")
    assert (await scene.noted()).id == scene.card.id
    await scene.news()
    assert "Claimed by Anna Lopez" in scene.card.shown


async def test_another_process_takes_the_press(scene: CaseScenario, process: Process) -> None:
    await scene.ask()
    scene.channel = process()
    await scene.visitor().press(scene.card, "Claim")
    await scene.news()
    assert "Claimed by Anna Lopez" in scene.card.shown


@sizes("crowd", smoke=40, whole=200)
async def test_of_all_who_press_at_once_one_has_it(scene: CaseScenario, crowd: int) -> None:
    """All of them are told who, but for those whom a slow machine asks to try again."""
    await scene.ask()
    people = [_colleague(scene, number) for number in range(crowd)]
    visitors = [scene.visitor(each.id) for each in people]
    answers = await asyncio.gather(*(each.press(scene.card, "Claim") for each in visitors))
    assert {answer.status for answer in answers} == {200}
    assert [step.step for step in await scene.history()] == ["claim"]
    owner = (await scene.case()).status.owner_name
    told = [each.text for each in answers if LATER not in each.text]
    assert len(told) >= crowd / 10
    assert sum(f"Claimed by {owner}" in each for each in told) == len(told)
    assert sum(f"It is assigned to {owner}." in each for each in told) >= len(told) - 1


def replace_people(channel: str) -> Escalation:
    return replace(HANDED_OVER, people=channel)


def _colleague(scene: CaseScenario, number: int) -> Human:
    address = f"p{number}@acme.example"
    human = Human(f"p{number}-object-id", f"29:p{number}", f"Person {number}", address, address)
    return scene.teams.add(human, names.PEOPLE)


def _copied(activity: dict[str, Any], conversation: str) -> dict[str, Any]:
    """Return a press that claims to be from another channel."""
    there = {**activity["conversation"], "id": f"{conversation};messageid=1"}
    return {**activity, "conversation": there, "id": "f:another"}


def _named(activity: dict[str, Any], about: str) -> dict[str, Any]:
    action = activity["value"]["action"]
    value = {"action": {**action, "data": {"about": about}}}
    return {**activity, "value": value, "id": "f:another"}


async def replied(scene: CaseScenario) -> None:
    await scene.ask()
    await scene.act("reply", text="Room 3.")
    await scene.news()


async def test_it_helped_and_is_closed(scene: CaseScenario) -> None:
    await replied(scene)
    await scene.visitor(names.ALICE).press(scene.told[-1], "This helped, close it")
    seen = scene.seen_by(names.ALICE, scene.told[-1])
    assert seen.splitlines() == ["You closed it.", "Ask again"], "at once"
    await scene.news()
    assert (await scene.case()).status.state == "resolved"
    (told,) = scene.told
    assert told.shown.splitlines() == [
        "**Anna Lopez** replied:",
        "",
        "Room 3.",
        "You closed it.",
        "Ask again",
    ]
    assert "Closed by the asker" in scene.card.shown


async def test_asking_again_calls_people_and_says_no_more_than_that(scene: CaseScenario) -> None:
    await replied(scene)
    await scene.visitor(names.ALICE).press(scene.told[-1], "Ask again")
    await scene.news()
    assert (await scene.case()).status.state == "reopened"
    assert "**A question was reopened** and is not assigned to anyone." in scene.in_people[1].text
    assert scene.told[-1].shown.splitlines()[-2:] == ["You asked again.", "No longer needed"]
    assert scene.card.labels[0] == "Claim"


async def test_only_the_last_news_have_buttons(scene: CaseScenario) -> None:
    await scene.ask()
    for what in ("claim", "reply", "resolve", "reopen"):
        await scene.act(what, text="words")
        await scene.news()
        assert [bool(post.labels) for post in scene.told].count(True) == 1
        assert scene.told[-1].labels
    assert [post.text.splitlines()[0] for post in scene.told] == [
        "**Anna Lopez** is working on your question.",
        "**Anna Lopez** replied:",
        "**Anna Lopez** closed your question:",
        "**Anna Lopez** reopened your question:",
    ]


async def test_a_release_is_not_told_and_leaves_what_can_still_be_done(scene: CaseScenario) -> None:
    await replied(scene)
    await scene.act("release")
    await scene.news()
    (told,) = scene.told
    assert told.labels == ["No longer needed"]


async def test_others_are_told_that_it_is_not_theirs(scene: CaseScenario) -> None:
    await replied(scene)
    bob = scene.visitor(names.BOB)
    await bob.press(scene.told[-1], "Ask again")
    assert bob.told == ["Only the asker can do this."]
    assert (await scene.case()).status.state == "answered"


async def test_a_button_that_was_left_over_says_how_it_is_now(scene: CaseScenario) -> None:
    await replied(scene)
    told, alice = scene.told[0], scene.visitor(names.ALICE)
    await alice.press(told, "Ask again")
    await scene.act("claim")
    (answer,) = await alice.deliver(alice.sent[-1])
    assert "is working on your question. Close it if you no longer need an answer" in answer.text


async def test_pressing_twice_is_pressing_once(scene: CaseScenario) -> None:
    await replied(scene)
    alice = scene.visitor(names.ALICE)
    await alice.press(scene.told[-1], "This helped, close it")
    await alice.deliver(alice.sent[-1])
    assert [step.step for step in await scene.history()] == ["reply", "resolve"]


async def test_it_is_pressed_where_it_was_asked(scene: CaseScenario) -> None:
    await replied(scene)
    alice = scene.visitor(names.ALICE)
    await alice.press(scene.told[-1], "Ask again")
    there = {**alice.sent[-1]["conversation"], "id": f"{names.PEOPLE};messageid=1"}
    (answer,) = await alice.deliver({**alice.sent[-1], "conversation": there})
    assert "That question is no longer here" in answer.text


async def test_in_a_personal_chat_it_is_the_same(scene: CaseScenario) -> None:
    asked = question(scene.teams, private=True)
    await scene.ask(asked)
    await scene.act("reply", text="Room 3.", id=asked.interaction_id)
    await scene.news()
    told = scene.teams.posts_in(asked.thread.channel)[-1]
    await scene.visitor(names.ALICE).press(told, "This helped, close it")
    steps = await scene.store.escalations.steps("acme", asked.interaction_id)
    assert [step.step for step in steps] == ["open", "reply", "resolve"]


async def test_what_could_not_be_edited_is_edited_later(scene: CaseScenario) -> None:
    await replied(scene)
    await scene.visitor(names.ALICE).press(scene.told[-1], "Ask again")
    scene.teams.fail(None, Fault(status=500), call="update")
    await scene.news()
    scene.ahead = timedelta(minutes=1)
    await scene.news()
    assert scene.told[-1].labels == ["No longer needed"]
    assert len(scene.in_people) == 2


async def test_the_asker_is_told_though_nothing_can_be_noted(
    scene: CaseScenario, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scene.ask()

    async def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("The record is away.")

    monkeypatch.setattr(store.notes, "put", away)
    await scene.act("claim")
    await scene.news()
    assert len(scene.told) == 1


async def test_news_that_somebody_deleted_stop_nothing(scene: CaseScenario) -> None:
    await replied(scene)
    del scene.teams.visible[scene.told[0].id]
    await scene.act("resolve")
    await scene.news()
    assert [post.text.splitlines()[0] for post in scene.told] == [
        "**Anna Lopez** closed your question."
    ]


async def test_it_is_given_to_a_colleague_of_the_channel_with_the_reason(
    scene: CaseScenario,
) -> None:
    await scene.ask()
    give = {"assign_to": "bob@acme.example", "assign_words": "He knows it."}
    await scene.visitor().press(scene.card, "Assign to \u2026 > Send", **give)
    assert (await scene.case()).status.owner_id == "bob@acme.example"
    await scene.news()
    assert "is now working on your question." in scene.told[0].shown
    assert "He knows it." not in scene.told[0].shown
    told = scene.in_people[-1]
    assert "Anna Lopez assigned a question to" in told.shown
    assert "He knows it." in told.shown


async def test_it_is_given_to_nobody_who_is_no_colleague_there(scene: CaseScenario) -> None:
    await scene.ask()
    for named in ("guest@else.example", "nobody"):
        give = {"assign_to": named, "assign_words": "Please."}
        await scene.visitor().press(scene.card, "Assign to \u2026 > Send", **give)
    assert await scene.history() == []
    assert (
        "Nobody in this channel has that name or address. Enter their email address"
        in scene.seen_by(names.ANNA)
    )


async def test_a_note_is_for_those_who_answer_alone(scene: CaseScenario) -> None:
    await scene.ask()
    await scene.visitor().press(scene.card, "Note > Send", note_words="Seen before.")
    await scene.news()
    assert "Seen before." in scene.card.shown
    assert scene.told == []
