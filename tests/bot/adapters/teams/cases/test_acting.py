"""What people do on a card: through Teams' own invokes, over the record."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from bot.chat.actions import LATER
from bot.domain.cases import Actor
from bot.domain.errors import StoreUnavailable
from bot.domain.interactions import Escalation
from bot.store.database import Store
from tests.bot.adapters.outcomes import HANDED_OVER
from tests.bot.adapters.teams.cases.conftest import Process
from tests.bot.adapters.teams.cases.scenes import Scene
from tests.bot.adapters.teams.tenant import names
from tests.bot.adapters.teams.tenant.people import Human

TAKEN = "Anna Lopez has it already. Leave it to them, or ask them to release it."


async def test_a_claim_is_taken_shown_and_told(scene: Scene) -> None:
    await scene.ask()
    answer = await scene.visitor().press(scene.card, "Claim")
    assert answer.status == 200
    assert (await scene.case()).standing.owner_id == "anna@acme.example"
    await scene.news()
    assert "Claimed by Anna Lopez" in scene.card.shown
    assert scene.told[0].text == "**Anna Lopez** has taken your question."


async def test_who_presses_sees_the_card_as_it_is_at_once_and_others_with_the_edit(
    scene: Scene,
) -> None:
    await scene.ask()
    await scene.visitor().press(scene.card, "Claim")
    assert "Claimed by Anna Lopez" in scene.seen_by(names.ANNA)
    assert "Waits for somebody" in scene.seen_by(names.BOB)
    await scene.news()
    assert "Claimed by Anna Lopez" in scene.seen_by(names.BOB)


async def test_who_acts_in_teams_is_who_acts_on_slack_and_on_the_board(scene: Scene) -> None:
    await scene.ask()
    await scene.visitor().press(scene.card, "Claim")
    elsewhere = Actor("anna@acme.example", "Anna Lopez", "expert", frozenset({"slack:U0ANNA000"}))
    await scene.act("reply", elsewhere, "Room 3.")
    await scene.news()
    await scene.visitor().press(scene.card, "Release")
    assert (await scene.case()).standing.state == "open"


async def test_an_expert_who_asked_it_themselves_is_their_own_asker(scene: Scene) -> None:
    await scene.ask()
    alice = scene.visitor(names.ALICE)
    await alice.press(scene.card, "Resolve")
    assert (await scene.case()).standing.state == "resolved"
    assert [step.actor and step.actor.id for step in await scene.history()] == [
        "alice@acme.example"
    ]


async def test_resolve_and_release_are_done_at_once(scene: Scene) -> None:
    await scene.ask()
    anna = scene.visitor()
    for title in ("Claim", "Release", "Resolve"):
        await anna.press(scene.card, title)
    assert [step.step for step in await scene.history()] == ["claim", "release", "resolve"]


async def test_a_lost_race_says_who_has_it_and_shows_the_card_as_it_is(scene: Scene) -> None:
    await scene.ask()
    await scene.act("claim")
    answer = await scene.visitor(names.BOB).press(scene.card, "Claim")
    assert answer.status == 200
    seen = scene.seen_by(names.BOB)
    assert TAKEN in seen
    assert "Claimed by Anna Lopez" in seen
    await scene.channel.errands.finish()
    assert "Claimed by Anna Lopez" in scene.card.shown
    assert TAKEN not in scene.card.shown, "it is for who pressed alone"


async def test_a_reply_is_written_on_the_card_and_posted_in_the_persons_name(scene: Scene) -> None:
    await scene.ask()
    anna = scene.visitor()
    await anna.press(scene.card, "Reply > Send", reply_words=" The blue socket. ")
    assert "Answered by Anna Lopez" in scene.seen_by(names.ANNA)
    await scene.news()
    (told,) = scene.told
    assert told.text == "**Anna Lopez** answered:\n\nThe blue socket."
    assert "Anna Lopez replied: The blue socket." in scene.card.shown


async def test_why_it_is_not_for_them_is_asked_for(scene: Scene) -> None:
    await scene.ask()
    anna = scene.visitor()
    await anna.press(scene.card, "Not for us > Send", decline_words="Ask facilities.")
    await scene.news()
    assert scene.told[0].text.endswith("can't take your question:\n\nAsk facilities.")
    assert "Declined by Anna Lopez" in scene.card.shown
    assert scene.card.labels == []


async def test_the_same_form_sent_twice_is_one_reply(scene: Scene) -> None:
    await scene.ask()
    anna = scene.visitor()
    await anna.press(scene.card, "Reply > Send", reply_words="Once.")
    answers = await anna.deliver(*(anna.sent[-1] for _ in range(3)))
    assert {each.status for each in answers} == {200}
    assert [step.text for step in await scene.history()] == ["Once."]


async def test_the_same_words_on_the_card_that_came_after_are_another_reply(scene: Scene) -> None:
    await scene.ask()
    anna = scene.visitor()
    for title in ("Reply > Send", "Reply again > Send"):
        await anna.press(scene.card, title, reply_words="Again.")
    assert [step.text for step in await scene.history()] == ["Again.", "Again."]


@pytest.mark.parametrize("broken", ["first", "put"])
async def test_a_form_that_was_cut_short_is_sent_once_by_trying_again(
    scene: Scene, store: Store, monkeypatch: pytest.MonkeyPatch, broken: str
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


async def test_who_was_beaten_while_writing_keeps_their_words(scene: Scene) -> None:
    await scene.ask()
    bob = scene.visitor(names.BOB)
    await scene.act("claim")
    await bob.press(scene.card, "Reply > Send", reply_words="Mine.\nAll of it.")
    seen = scene.seen_by(names.BOB).splitlines()
    assert seen[:4] == [TAKEN, "You wrote:", "Mine.", "All of it."]
    assert [step.step for step in await scene.history()] == ["claim"]


async def test_blank_words_are_refused_in_words(scene: Scene) -> None:
    await scene.ask()
    await scene.visitor().press(scene.card, "Reply > Send", reply_words="  ")
    assert "The reply is empty." in scene.seen_by(names.ANNA)
    assert not await scene.history()


async def test_guests_see_the_card_and_do_nothing(scene: Scene) -> None:
    await scene.ask(response=replace_people(names.GUESTS))
    (card,) = scene.teams.posts_in(names.GUESTS)
    guest = scene.visitor(names.GUEST)
    await guest.press(card, "Claim")
    assert guest.told == ["Only colleagues can do this here."]
    assert not await scene.history()


async def test_a_card_is_pressed_where_people_were_asked(scene: Scene) -> None:
    await scene.ask()
    anna = scene.visitor()
    await anna.press(scene.card, "Claim")
    forged = _copied(anna.sent[-1], names.HELP)
    (answer,) = await anna.deliver(forged)
    assert "isn't here any more" in answer.text


async def test_a_button_that_names_nothing_we_know_is_refused_in_words(scene: Scene) -> None:
    await scene.ask()
    anna = scene.visitor()
    await anna.press(scene.card, "Claim")
    for about in ("", "x", "00000000-0000-5000-8000-000000000000"):
        forged = _named(anna.sent[-1], about)
        (answer,) = await anna.deliver(forged)
        assert answer.status == 200
        assert "any more" in answer.text


async def test_a_question_that_was_withdrawn_is_told_as_such(scene: Scene, store: Store) -> None:
    await scene.ask()
    card, anna = scene.card, scene.visitor()
    await store.work.cancel(scene.question.interaction_id)
    await anna.press(card, "Claim")
    assert "isn't here any more" in anna.told[-1]


async def test_a_card_whose_place_a_dying_process_did_not_note_is_found_by_pressing_it(
    scene: Scene, store: Store
) -> None:
    await scene.ask()
    key = f"teams:card:{scene.question.interaction_id}"
    await store.notes.put("acme", key, names.PEOPLE)
    await scene.visitor().press(scene.card, "Claim")
    assert (await scene.noted()).id == scene.card.id
    await scene.news()
    assert "Claimed by Anna Lopez" in scene.card.shown


async def test_another_process_takes_the_press(scene: Scene, process: Process) -> None:
    await scene.ask()
    scene.channel = process()
    await scene.visitor().press(scene.card, "Claim")
    await scene.news()
    assert "Claimed by Anna Lopez" in scene.card.shown


async def test_of_200_who_press_at_once_one_has_it(scene: Scene) -> None:
    """All of them are told who, but for those whom a slow machine asks to try again."""
    await scene.ask()
    people = [_colleague(scene, number) for number in range(200)]
    visitors = [scene.visitor(each.id) for each in people]
    answers = await asyncio.gather(*(each.press(scene.card, "Claim") for each in visitors))
    assert {answer.status for answer in answers} == {200}
    assert [step.step for step in await scene.history()] == ["claim"]
    owner = (await scene.case()).standing.owner_name
    told = [each.text for each in answers if LATER not in each.text]
    assert len(told) >= 20
    assert sum(f"Claimed by {owner}" in each for each in told) == len(told)
    assert sum(f"{owner} has it already." in each for each in told) >= len(told) - 1


def replace_people(channel: str) -> Escalation:
    return replace(HANDED_OVER, people=channel)


def _colleague(scene: Scene, number: int) -> Human:
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
