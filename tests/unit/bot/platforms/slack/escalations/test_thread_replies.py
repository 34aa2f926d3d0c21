"""Test what becomes of what experts write in the threads of cases on Slack."""

from __future__ import annotations

import json

import pytest

from bot.domain.cases import CaseStep
from tests.fakes.escalations import until
from tests.fakes.scenarios import BEN
from tests.fakes.slack.builders import HELP, PEOPLE, ROOT, CaseScenario, question
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.names import ALICE, ANNA, BOB, GUEST
from tests.fakes.slack.posts import Post

ANSWER = "The blue socket is right."


async def below_card(
    scene: CaseScenario, text: str = ANSWER, user: str = ANNA, *, mention: bool = False
) -> str:
    """Write in the thread of the card; return the message's ts."""
    there = scene.card.ts
    return await scene.visitor(user).say(PEOPLE, text, thread=there, mention=mention)


async def in_thread(scene: CaseScenario, text: str = ANSWER, user: str = ANNA) -> str:
    """Write in the thread of the question; return the message's ts."""
    scene.slack.rooms.made(PEOPLE).members.add(ANNA)
    return await scene.visitor(user).say(HELP, text, thread=ROOT)


def offers(scene: CaseScenario, user: str = ANNA) -> list[Post]:
    return [post for post in scene.slack.whispered(user) if post.labels]


async def press(scene: CaseScenario, label: str) -> None:
    await scene.visitor().click(offers(scene)[-1], label)


async def said(scene: CaseScenario) -> list[CaseStep]:
    return list(await scene.store.escalations.steps("acme", question().interaction_id))[1:]


@pytest.mark.mended(id="slack-1a")
async def test_what_is_written_below_a_card_is_sent_once_its_author_says_so(
    scene: CaseScenario,
) -> None:
    await scene.ask()
    ts = await below_card(scene)
    (offer,) = offers(scene)
    assert offer.shown.startswith("Send this to ")
    assert offer.thread_ts == scene.card.ts
    assert await said(scene) == []

    await press(scene, "Send")
    await scene.news()
    (reply,) = await said(scene)
    assert (reply.step, reply.text) == ("reply", ANSWER)
    assert scene.told[0].shown.startswith(f"*Anna Lopez* replied:\n{ANSWER}")
    assert "*Answered by Anna Lopez*" in scene.card.shown
    await until(lambda: any("Sent to" in each for each in scene.whispered(ANNA)))
    assert ts not in [post.ts for post in scene.slack.whispered(ANNA)]


async def test_an_offer_that_is_pressed_twice_sends_one_reply(scene: CaseScenario) -> None:
    await scene.ask()
    await below_card(scene)
    (offer,) = offers(scene)
    for _ in range(2):
        await scene.visitor().click(offer, "thread_send")
    assert [step.step for step in await said(scene)] == ["reply"]


async def test_a_mention_below_a_card_is_offered_without_the_mention(scene: CaseScenario) -> None:
    await scene.ask()
    await below_card(scene, mention=True)
    assert len(offers(scene)) == 1
    await press(scene, "Send")
    assert [step.text for step in await said(scene)] == [ANSWER]


async def test_what_stays_below_a_card_is_not_sent(scene: CaseScenario) -> None:
    await scene.ask()
    ts = await below_card(scene)
    await press(scene, "No, keep it here")
    await scene.news()
    assert (await said(scene), scene.told) == ([], [])
    assert ANSWER not in (await scene.store.notes.get("acme", f"slack:written:{PEOPLE}:{ts}") or "")
    await until(lambda: any("It stays here" in each for each in scene.whispered(ANNA)))


@pytest.mark.mended(id="slack-1b")
async def test_an_answer_in_the_askers_thread_marks_the_case(scene: CaseScenario) -> None:
    await scene.ask()
    await in_thread(scene)
    (offer,) = offers(scene)
    assert "answered by you" in offer.shown

    await press(scene, "Mark as answered")
    await scene.news()
    assert (await scene.case()).status.state == "answered"
    assert [(step.text, step.detail.in_thread) for step in await said(scene)] == [(ANSWER, True)]
    (told,) = scene.told
    assert ANSWER not in told.shown
    assert told.labels == ["This helped, close it", "Ask again"]


@pytest.mark.parametrize("user", [ALICE, GUEST, BOB])
async def test_in_the_askers_thread_only_who_sees_the_card_is_asked(
    scene: CaseScenario, user: str
) -> None:
    """Bob is a colleague, and no member of the people's channel."""
    await scene.ask()
    scene.slack.rooms.made(PEOPLE).members.discard(BOB)
    await in_thread(scene, user=user)
    assert not offers(scene, user)


async def test_a_question_back_in_the_askers_thread_is_no_answer(scene: CaseScenario) -> None:
    await scene.ask()
    await in_thread(scene, "Which client do you use?")
    assert not offers(scene)


async def test_outsiders_below_a_card_are_not_asked(scene: CaseScenario) -> None:
    await scene.ask()
    await below_card(scene, user=GUEST)
    assert not offers(scene, GUEST)


async def test_nobody_is_asked_about_the_case_of_another(scene: CaseScenario) -> None:
    await scene.ask()
    await scene.act("claim", BEN)
    await below_card(scene)
    await in_thread(scene)
    assert not offers(scene)


async def test_talk_in_the_askers_thread_after_an_answer_is_no_answer(
    scene: CaseScenario,
) -> None:
    await scene.ask()
    await scene.act("reply", text=ANSWER)
    await in_thread(scene, "Glad that it works.")
    assert not offers(scene)


async def test_without_the_scope_for_it_a_message_is_taken_without_an_offer(
    scene: CaseScenario,
) -> None:
    await scene.ask()
    scene.slack.fail("conversations.members", Fault(error="missing_scope"))
    anna = scene.visitor()
    anna.held = []
    await anna.say(HELP, ANSWER, thread=ROOT)
    (sent,) = anna.held
    assert (await anna.door.event(sent)).status == 200
    assert not offers(scene)


async def test_nobody_is_asked_once_it_is_settled(scene: CaseScenario) -> None:
    await scene.ask()
    await scene.act("resolve")
    await below_card(scene)
    await in_thread(scene)
    assert not offers(scene)


async def test_an_edit_before_it_is_sent_is_what_is_sent(scene: CaseScenario) -> None:
    await scene.ask()
    ts = await below_card(scene)
    await scene.visitor().edit(ts, "The red socket.")
    await press(scene, "Send")
    assert [step.text for step in await said(scene)] == ["The red socket."]


async def test_an_edit_after_it_was_sent_corrects_what_the_asker_reads(
    scene: CaseScenario,
) -> None:
    await scene.ask()
    ts = await below_card(scene)
    await press(scene, "Send")
    await scene.news()
    await scene.visitor().edit(ts, "The red socket.")
    await scene.news()
    (told,) = scene.told
    assert "The red socket." in told.shown
    assert ANSWER not in told.raw
    assert told.labels == ["This helped, close it", "Ask again"]
    assert "The red socket." in scene.card.shown
    assert [step.step for step in await said(scene)] == ["reply", "amend"]


async def test_an_older_edit_that_comes_late_changes_nothing(scene: CaseScenario) -> None:
    await scene.ask()
    ts = await below_card(scene)
    anna = scene.visitor()
    anna.held = []
    for words in ("The red socket.", "The green socket."):
        await anna.edit(ts, words)
    for event in reversed(anna.held):
        assert (await anna.door.event(event)).status == 200
    await press(scene, "Send")
    assert [step.text for step in await said(scene)] == ["The green socket."]


async def test_a_deletion_before_it_is_sent_leaves_nothing_to_send(scene: CaseScenario) -> None:
    await scene.ask()
    ts = await below_card(scene)
    await scene.visitor().delete(ts)
    await press(scene, "Send")
    assert await said(scene) == []
    await until(lambda: any("nothing was sent" in each for each in scene.whispered(ANNA)))


async def test_a_deletion_after_it_was_sent_takes_it_from_the_asker(scene: CaseScenario) -> None:
    await scene.ask()
    ts = await below_card(scene)
    await press(scene, "Send")
    await scene.news()
    await scene.visitor().delete(ts)
    await scene.news()
    (told,) = scene.told
    assert ANSWER not in told.raw
    assert "retracted the answer." in told.shown
    assert told.labels == ["No longer needed"]
    assert ANSWER not in scene.card.raw
    assert (await scene.case()).status.state == "claimed"

    await scene.act("resolve")
    await scene.news()
    assert "retracted the answer." in scene.told[0].shown


async def killed_before_noting(scene: CaseScenario, ts: str, pressed: str) -> None:
    """Leave the notes as a kill does between sending a message and noting its reply's number."""
    key = f"slack:written:{PEOPLE}:{ts}"
    written = json.loads(await scene.store.notes.get("acme", key) or "")
    case_id = question().interaction_id
    for name, text in ((key, json.dumps({**written, "step": 0})), (f"{key}:sent", pressed)):
        await scene.store.notes.put("acme", name, text, interaction_id=case_id)


@pytest.mark.parametrize("pressed", ["0", "done"])
@pytest.mark.parametrize(("edited", "step"), [(True, "amend"), (False, "retract")])
async def test_a_kill_after_sending_does_not_lose_the_link_to_the_reply(
    scene: CaseScenario, pressed: str, step: str, *, edited: bool
) -> None:
    await scene.ask()
    ts = await below_card(scene)
    await press(scene, "Send")
    await scene.news()
    await killed_before_noting(scene, ts, pressed)

    anna = scene.visitor()
    await (anna.edit(ts, "The red socket.") if edited else anna.delete(ts))
    await scene.news()

    assert [each.step for each in await said(scene)] == ["reply", step]
    assert ANSWER not in scene.told[0].raw


async def test_a_kill_before_sending_corrects_no_earlier_reply_of_the_same_words(
    scene: CaseScenario,
) -> None:
    await scene.ask()
    await scene.act("reply", text=ANSWER)
    ts = await below_card(scene)
    await killed_before_noting(scene, ts, "1")

    await scene.visitor().delete(ts)

    assert [each.step for each in await said(scene)] == ["reply"]


async def test_what_is_kept_of_a_message_goes_with_the_question(scene: CaseScenario) -> None:
    await scene.ask()
    ts = await below_card(scene)
    key = f"slack:written:{PEOPLE}:{ts}"
    assert ANSWER in (await scene.store.notes.get("acme", key) or "")
    await scene.store.work.cancel(question().interaction_id)
    assert await scene.store.notes.get("acme", key) is None


async def test_an_offer_that_slack_did_not_take_is_made_when_it_sends_again(
    scene: CaseScenario,
) -> None:
    await scene.ask()
    scene.slack.fail("chat.postEphemeral", Fault(status=500))
    anna = scene.visitor()
    anna.held = []
    await anna.say(PEOPLE, ANSWER, thread=scene.card.ts)
    (sent,) = anna.held
    assert (await anna.door.event(sent)).status == 503
    assert not offers(scene)
    for attempt in (1, 2):
        assert (await anna.door.event(sent, attempt=attempt)).status == 200
    assert len(offers(scene)) == 1


async def out_of_order(scene: CaseScenario, *, delete: bool = False) -> list[object]:
    """Write below the card and change it; return both events, the change first."""
    anna = scene.visitor()
    anna.held = []
    ts = await anna.say(PEOPLE, ANSWER, thread=scene.card.ts)
    await (anna.delete(ts) if delete else anna.edit(ts, "The red socket."))
    written, changed = anna.held
    for event in (changed, written):
        assert (await anna.door.event(event)).status == 200
    return [written, changed]


async def test_an_edit_that_comes_before_its_message_is_what_is_offered(
    scene: CaseScenario,
) -> None:
    await scene.ask()
    await out_of_order(scene)
    assert len(offers(scene)) == 1
    await press(scene, "Send")
    assert [step.text for step in await said(scene)] == ["The red socket."]


async def test_what_is_deleted_before_it_comes_is_not_offered(scene: CaseScenario) -> None:
    await scene.ask()
    await out_of_order(scene, delete=True)
    assert not offers(scene)


async def test_what_was_deleted_is_not_offered_when_it_comes_again(scene: CaseScenario) -> None:
    await scene.ask()
    anna = scene.visitor()
    anna.held = []
    ts = await anna.say(PEOPLE, ANSWER, thread=scene.card.ts)
    await anna.delete(ts)
    written, deleted = anna.held
    for event in (written, deleted, written):
        assert (await anna.door.event(event)).status == 200
    assert len(offers(scene)) == 1
    assert ANSWER not in (await scene.store.notes.get("acme", f"slack:written:{PEOPLE}:{ts}") or "")


async def test_a_deletion_elsewhere_leaves_no_note(scene: CaseScenario) -> None:
    await scene.ask()
    anna = scene.visitor()
    ts = await anna.say(PEOPLE, "lunch?", mention=False)
    reply = await anna.say(PEOPLE, "yes", thread=ts)
    await anna.delete(reply)
    assert await scene.store.notes.get("acme", f"slack:written:{PEOPLE}:{reply}") is None
