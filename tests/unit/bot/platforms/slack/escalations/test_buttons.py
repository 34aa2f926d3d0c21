"""Test the buttons of a case: those of people on its card, and those of the asker."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain.cases import Actor
from bot.domain.errors import StoreUnavailable
from bot.domain.settings import Settings
from bot.escalations.lifecycle import ReminderSchedule
from bot.store.database import Store
from bot.store.notices import StoredNotices
from tests.fakes.escalations import until
from tests.fakes.scenarios import BEN
from tests.fakes.slack import interactions, names
from tests.fakes.slack.builders import HELP, PEOPLE, CaseScenario, question
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.people import Member
from tests.fakes.slack.posts import Post, View

TAKEN = "It is assigned to Anna Lopez. Leave it to them or ask them to release it."


def form(scene: CaseScenario) -> View:
    (view,) = scene.slack.open_views
    return view


async def test_a_claim_is_taken_shown_and_told(scene: CaseScenario) -> None:
    await scene.ask()
    answer = await scene.visitor().click(scene.card, "Claim")
    assert answer.status == 200
    assert (await scene.case()).status.owner_id == "anna@acme.example"
    await scene.news()
    assert "*Claimed by Anna Lopez*" in scene.card.shown
    assert "*Anna Lopez* is working on your question." in scene.told[0].shown


async def test_who_acts_on_slack_is_who_acts_on_the_board(scene: CaseScenario) -> None:
    await scene.ask()
    await scene.visitor().click(scene.card, "Claim")
    at_the_board = Actor("anna@acme.example", "Anna Lopez", "expert", frozenset({"oidc-1"}))
    await scene.act("reply", at_the_board, "Room 3.")
    await scene.news()
    await scene.visitor().click(scene.card, "Release")
    assert (await scene.case()).status.state == "open"


async def test_without_an_address_they_are_known_by_their_id_on_slack(scene: CaseScenario) -> None:
    scene.slack.people[names.ANNA].email = None
    await scene.ask()
    await scene.visitor().click(scene.card, "Claim")
    assert (await scene.case()).status.owner_id == f"slack:{names.ANNA}"


async def test_resolve_and_release_are_done_at_once(scene: CaseScenario) -> None:
    await scene.ask()
    anna = scene.visitor()
    await anna.click(scene.card, "Claim")
    await scene.news()
    await anna.click(scene.card, "Release")
    await scene.news()
    await anna.click(scene.card, "Resolve")
    assert [step.step for step in await scene.history()] == ["claim", "release", "resolve"]


async def test_a_lost_race_says_who_has_it_and_shows_the_card_as_it_is(scene: CaseScenario) -> None:
    await scene.ask()
    await scene.act("claim")
    await scene.visitor(names.BOB).click(scene.card, "Claim")
    await until(lambda: scene.whispered(names.BOB))
    assert scene.whispered(names.BOB) == [TAKEN]
    await until(lambda: "*Claimed by Anna Lopez*" in scene.card.shown)


async def test_a_reply_is_written_in_a_form_and_posted_in_the_persons_name(
    scene: CaseScenario,
) -> None:
    await scene.ask()
    anna = scene.visitor()
    await anna.click(scene.card, "Reply")
    assert "> vpn down?" in form(scene).shown
    assert form(scene).payload["private_metadata"] == question().interaction_id
    assert await anna.submit(form(scene), {"words": " The blue socket. "}) == {}
    await scene.news()
    (told,) = scene.told
    assert told.shown.startswith("*Anna Lopez* replied:\nThe blue socket.")
    assert "*Answered by Anna Lopez*" in scene.card.shown


async def test_why_it_is_not_for_them_is_asked_for(scene: CaseScenario) -> None:
    await scene.ask()
    anna = scene.visitor()
    await anna.click(scene.card, "Not for us")
    await anna.submit(form(scene), {"words": "Ask facilities."})
    await scene.news()
    assert "can't help with your question:\nAsk facilities." in scene.told[0].shown
    assert "*Declined by Anna Lopez*" in scene.card.shown


async def test_the_same_form_sent_twice_is_one_reply(scene: CaseScenario) -> None:
    await scene.ask()
    anna = scene.visitor()
    await anna.click(scene.card, "Reply")
    view = form(scene)
    view.values = {"words": {"words": {"type": "plain_text_input", "value": "Once."}}}
    sent = interactions.submission(scene.slack, anna.id, view)
    answers = await asyncio.gather(*(anna.door.interact(sent) for _ in range(3)))
    assert {(each.status, each.text) for each in answers} == {(200, "")}
    assert [step.text for step in await scene.history()] == ["Once."]


async def test_two_forms_with_the_same_words_are_two_replies(scene: CaseScenario) -> None:
    await scene.ask()
    anna = scene.visitor()
    for _ in range(2):
        await anna.click(scene.card, "case_reply")
        await anna.submit(form(scene), {"words": "Again."})
        await scene.news()
    assert [step.text for step in await scene.history()] == ["Again.", "Again."]


@pytest.mark.parametrize("broken", ["first", "put"])
async def test_a_form_that_was_cut_short_is_sent_once_by_trying_again(
    scene: CaseScenario, store: Store, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    await scene.ask()
    anna = scene.visitor()
    await anna.click(scene.card, "Reply")

    async def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("The record is away.")

    with monkeypatch.context() as cut:
        cut.setattr(store.notes, broken, away)
        answer = await anna.submit(form(scene), {"words": "Once."})
    assert "try again" in answer["errors"]["words"]
    assert await anna.submit(form(scene), {"words": "Once."}) == {}
    assert [step.text for step in await scene.history()] == ["Once."]


async def test_who_was_beaten_while_writing_keeps_their_words(scene: CaseScenario) -> None:
    await scene.ask()
    bob = scene.visitor(names.BOB)
    await bob.click(scene.card, "Reply")
    await scene.act("claim")
    answer = await bob.submit(form(scene), {"words": "Mine."})
    assert answer == {"response_action": "errors", "errors": {"words": TAKEN}}
    assert form(scene).values["words"]["words"]["value"] == "Mine."


async def test_an_empty_reply_is_said_so_in_the_form(scene: CaseScenario) -> None:
    await scene.ask()
    anna = scene.visitor()
    await anna.click(scene.card, "Reply")
    answer = await anna.submit(form(scene), {"words": "  "})
    assert "The reply is empty" in answer["errors"]["words"]


async def test_no_form_is_opened_for_what_another_has(scene: CaseScenario) -> None:
    await scene.ask()
    await scene.act("claim")
    await scene.visitor(names.BOB).click(scene.card, "Reply")
    await until(lambda: scene.whispered(names.BOB))
    assert scene.whispered(names.BOB) == [TAKEN]
    assert not scene.slack.open_views


async def test_a_form_that_slack_does_not_open_is_no_silence(scene: CaseScenario) -> None:
    await scene.ask()
    scene.slack.fail("views.open", Fault(error="expired_trigger_id"))
    await scene.visitor().click(scene.card, "Reply")
    await until(lambda: scene.whispered(names.ANNA))
    assert "try again" in scene.whispered(names.ANNA)[0]


@pytest.mark.parametrize(
    "member",
    [
        Member("U0X", "x", "X", "x@acme.example", is_restricted=True),
        Member("U0X", "x", "X", "x@acme.example", is_ultra_restricted=True),
        Member("U0X", "x", "X", "x@other.example", team_id="T0OTHER00", is_stranger=True),
        Member("U0X", "x", "X", "x@acme.example", is_bot=True),
        Member("U0X", "x", "X", "x@acme.example", deleted=True),
    ],
    ids=["guest", "single-channel guest", "stranger", "bot", "gone"],
)
@pytest.mark.parametrize("label", ["Claim", "Reply"])
async def test_only_colleagues_act(scene: CaseScenario, member: Member, label: str) -> None:
    scene.slack.people["U0X"] = member
    await scene.ask()
    await scene.visitor("U0X").click(scene.card, label)
    await until(lambda: scene.whispered("U0X"))
    assert scene.whispered("U0X") == ["Only colleagues can do this here."]
    assert not scene.slack.open_views
    assert not await scene.history()


async def test_who_stopped_being_a_colleague_does_not_send_the_form(scene: CaseScenario) -> None:
    await scene.ask()
    other = scene.visitor(names.GUEST)
    await scene.visitor().click(scene.card, "Reply")
    answer = await other.submit(form(scene), {"words": "Let me in."})
    assert answer["errors"]["words"] == "Only colleagues can do this here."
    assert not await scene.history()


@pytest.mark.parametrize("value", ["", "x", "00000000-0000-0000-0000-000000000000"])
async def test_a_button_that_names_nothing_does_nothing(scene: CaseScenario, value: str) -> None:
    await scene.ask()
    actions = scene.card.blocks[-1]
    actions["elements"][0]["value"] = value
    answer = await scene.visitor().click(scene.card, "Claim")
    assert answer.status == 200
    await until(lambda: scene.whispered(names.ANNA))
    assert not await scene.history()


async def test_a_case_is_acted_on_only_in_the_channel_of_its_card(scene: CaseScenario) -> None:
    """Who copies a button into another channel gets nowhere."""
    await scene.ask()
    copy = scene.slack.write(names.BOT_USER, HELP, dict(scene.card.payload))
    await scene.visitor().click(copy, "Claim")
    await until(lambda: scene.whispered(names.ANNA))
    assert "That question is no longer here" in scene.whispered(names.ANNA)[0]
    assert not await scene.history()


async def test_a_withdrawn_question_can_not_be_acted_on(scene: CaseScenario) -> None:
    await scene.ask()
    await scene.store.work.cancel(question().interaction_id)
    await scene.visitor().click(scene.card, "Claim")
    await until(lambda: scene.whispered(names.ANNA))
    assert "That question is no longer here" in scene.whispered(names.ANNA)[0]


async def test_who_asked_and_is_a_colleague_is_both(scene: CaseScenario) -> None:
    """They are not told of what they did themselves."""
    await scene.ask()
    await scene.visitor(names.ALICE).click(scene.card, "Resolve")
    await scene.news()
    assert (await scene.case()).status.state == "resolved"
    assert not scene.told


async def test_the_board_and_slack_do_not_meet_on_a_card_that_moved(scene: CaseScenario) -> None:
    await scene.ask()
    await scene.act("resolve", BEN)
    await scene.visitor().click(scene.card, "Claim")
    await until(lambda: scene.whispered(names.ANNA))
    assert scene.whispered(names.ANNA) == ["Ben Okafor has already resolved it. Reopen it first."]
    assert len(scene.slack.in_channel(PEOPLE)) == 2


async def replied(scene: CaseScenario) -> None:
    await scene.ask()
    await scene.act("reply", text="Room 3.")
    await scene.news()


async def test_it_helped_and_is_closed(scene: CaseScenario) -> None:
    await replied(scene)
    await scene.visitor(names.ALICE).click(scene.told[-1], "This helped, close it")
    await scene.news()
    assert (await scene.case()).status.state == "resolved"
    (told,) = scene.told
    assert told.shown.splitlines() == [
        "*Anna Lopez* replied:",
        "Room 3.",
        "You closed it.",
        "Ask again",
    ]
    assert "*Closed by the asker*" in scene.card.shown


async def test_asking_again_calls_people_and_says_no_more_than_that(scene: CaseScenario) -> None:
    await replied(scene)
    await scene.visitor(names.ALICE).click(scene.told[-1], "Ask again")
    await scene.news()
    assert (await scene.case()).status.state == "reopened"
    called = scene.slack.in_channel(PEOPLE)[1]
    assert "*A question was reopened* and is not assigned to anyone." in called.shown
    assert scene.told[-1].shown.splitlines()[-2:] == ["You asked again.", "No longer needed"]
    assert scene.card.labels[0] == "Claim"


async def test_only_the_last_news_have_buttons(scene: CaseScenario) -> None:
    await scene.ask()
    for what in ("claim", "reply", "resolve", "reopen"):
        await scene.act(what, text="words")
        await scene.news()
        assert [bool(post.labels) for post in scene.told].count(True) == 1
        assert scene.told[-1].labels
    assert [post.shown.splitlines()[0] for post in scene.told] == [
        "*Anna Lopez* is working on your question.",
        "*Anna Lopez* replied:",
        "*Anna Lopez* closed your question:",
        "*Anna Lopez* reopened your question:",
    ]


async def test_a_release_is_not_told_and_leaves_what_can_still_be_done(scene: CaseScenario) -> None:
    await scene.ask()
    await scene.act("reply", text="Room 3.")
    await scene.news()
    await scene.act("release")
    await scene.news()
    (told,) = scene.told
    assert told.labels == ["No longer needed"]


async def test_others_are_told_that_it_is_not_theirs(scene: CaseScenario) -> None:
    await replied(scene)
    await scene.visitor(names.BOB).click(scene.told[-1], "Ask again")
    await until(lambda: scene.whispered(names.BOB))
    assert scene.whispered(names.BOB) == ["Only the asker can do this."]
    assert (await scene.case()).status.state == "answered"


async def test_a_button_that_was_left_over_says_how_it_is_now(scene: CaseScenario) -> None:
    await scene.ask()
    await scene.act("claim")
    await scene.news()
    alice = scene.visitor(names.ALICE)
    left_over = scene.slack.write(names.BOT_USER, HELP, dict(scene.told[0].payload), question().id)
    left_over.payload["blocks"][-1]["elements"][0]["action_id"] = "asker_reopen"
    await alice.click(left_over, "asker_reopen")
    await until(lambda: scene.whispered(names.ALICE))
    assert (
        "is working on your question. Close it if you no longer need an answer"
        in scene.whispered(names.ALICE)[0]
    )


async def test_pressing_twice_is_pressing_once(scene: CaseScenario) -> None:
    await replied(scene)
    alice = scene.visitor(names.ALICE)
    for _ in range(2):
        await alice.click(scene.told[-1], "asker_close")
    assert [step.step for step in await scene.history()] == ["reply", "resolve"]


async def test_it_is_pressed_where_it_was_asked(scene: CaseScenario) -> None:
    await replied(scene)
    copy = scene.slack.write(names.BOT_USER, PEOPLE, dict(scene.told[0].payload))
    await scene.visitor(names.ALICE).click(copy, "Ask again")
    await until(lambda: scene.whispered(names.ALICE))
    assert "That question is no longer here" in scene.whispered(names.ALICE)[0]


async def test_in_a_direct_message_it_is_the_same(scene: CaseScenario) -> None:
    asked = question(private=True)
    await scene.ask(asked)
    await scene.act("reply", text="Room 3.", id=asked.interaction_id)
    await scene.news()
    told = scene.slack.in_thread(asked.thread.channel, asked.thread.id)[-1]
    await scene.visitor(names.ALICE).click(told, "This helped, close it")
    steps = await scene.store.escalations.steps("acme", asked.interaction_id)
    assert [step.step for step in steps] == ["open", "reply", "resolve"]


async def test_what_could_not_be_edited_is_edited_later(scene: CaseScenario) -> None:
    await replied(scene)
    await scene.visitor(names.ALICE).click(scene.told[-1], "Ask again")
    scene.slack.fail("chat.update", None, Fault(status=500))
    await scene.news()
    scene.ahead = timedelta(minutes=1)
    await scene.news()
    assert scene.told[-1].labels == ["No longer needed"]
    assert len(scene.slack.in_channel(PEOPLE)) == 2


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
    scene.slack.posts.remove(scene.told[0])
    await scene.act("resolve")
    await scene.news()
    assert [post.shown.splitlines()[0] for post in scene.told] == [
        "*Anna Lopez* closed your question."
    ]


async def test_it_is_given_to_a_colleague_of_the_channel_with_the_reason(
    scene: CaseScenario,
) -> None:
    await scene.ask()
    anna = scene.visitor()
    await anna.click(scene.card, "case_assign")
    given = {"colleague": names.BOB, "words": "He knows <!here> it."}
    assert await anna.submit(form(scene), given) == {}
    await scene.news()
    assert (await scene.case()).status.owner_id == "bob@acme.example"
    assert "is now working on your question." in scene.told[0].shown
    assert "knows" not in scene.told[0].raw
    told = scene.slack.in_channel(PEOPLE)[-1]
    assert "Anna Lopez assigned a question to" in told.shown
    assert "He knows &lt;!here&gt; it." in told.raw


@pytest.mark.parametrize("user", [names.GUEST, names.BOB])
async def test_it_is_given_to_nobody_who_does_not_see_the_card(
    scene: CaseScenario, user: str
) -> None:
    await scene.ask()
    scene.slack.rooms.made(PEOPLE).members.discard(names.BOB)
    anna = scene.visitor()
    await anna.click(scene.card, "case_assign")
    refused = await anna.submit(form(scene), {"colleague": user, "words": "Please."})
    assert "words" in refused["errors"]
    assert await scene.history() == []


async def test_a_note_is_for_those_who_answer_alone(scene: CaseScenario) -> None:
    await scene.ask()
    anna = scene.visitor()
    await anna.click(scene.card, "Note")
    await anna.submit(form(scene), {"words": "Seen before."})
    await scene.news()
    assert "Seen before." in scene.card.shown
    assert scene.told == []


SECOND = "C0SECOND0"


async def second_level(scene: CaseScenario) -> Post:
    """Have a question wait until the second level is asked; return what it is asked."""
    scene.slack.channels.add(SECOND)
    await scene.ask()
    schedule = ReminderSchedule(second_level=timedelta(hours=2))
    notices = StoredNotices(scene.store.transactions, schedule)
    await notices.remind(scene.now() + timedelta(hours=3))
    await scene.news()
    (asked,) = scene.slack.in_channel(SECOND)
    return asked


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"slack_second_level_channel": SECOND})


async def test_what_nobody_takes_is_put_to_the_second_level(scene: CaseScenario) -> None:
    asked = await second_level(scene)
    assert "Nobody has claimed this question" in asked.shown
    assert "vpn down?" in asked.shown
    assert asked.labels[:2] == ["Claim", "Reply"]
    await scene.channel.withdraw(question(), [])
    assert not scene.slack.in_channel(SECOND)


async def test_the_second_level_takes_what_it_was_asked_about(scene: CaseScenario) -> None:
    asked = await second_level(scene)
    await scene.visitor(names.BOB).click(asked, "Claim")
    await scene.news()
    assert "*Claimed by Bob" in scene.card.shown


async def test_it_is_given_to_a_colleague_of_the_second_level(scene: CaseScenario) -> None:
    asked = await second_level(scene)
    scene.slack.rooms.made(PEOPLE).members.discard(names.BOB)
    scene.slack.rooms.made(SECOND).members.add(names.BOB)
    anna = scene.visitor()
    await anna.click(asked, "case_assign")
    assert await anna.submit(form(scene), {"colleague": names.BOB, "words": "Please."}) == {}
    assert (await scene.case()).status.owner_id == "bob@acme.example"


async def test_the_second_level_takes_nothing_that_it_was_not_asked_about(
    scene: CaseScenario,
) -> None:
    asked = await second_level(scene)
    other = await scene.ask(message=question(id="1700000000.000900"))
    made_up = replace(asked)
    made_up.payload = json.loads(
        json.dumps(asked.payload).replace(question().interaction_id, other)
    )
    await scene.visitor(names.BOB).click(made_up, "Claim")
    case = await scene.store.escalations.get("acme", other)
    assert case is not None
    assert case.status.state == "open"
