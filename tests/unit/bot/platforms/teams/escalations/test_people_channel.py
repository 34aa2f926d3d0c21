"""Test the people's channel: the card of a case, its edits, and reminders."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.domain.cases import (
    THREAD_NOT_READ,
    USE_REPLY,
    Case,
    CaseQuery,
    CaseStatus,
    Notice,
    is_card_thread,
)
from bot.domain.errors import DeliveryFailed, StoreUnavailable
from bot.domain.handoff import ON_HELP_DESK_LIST
from bot.domain.interactions import Escalation, Outcome, PostedRef
from bot.domain.messages import Thread
from bot.escalations.lifecycle import ReminderSchedule
from bot.store.database import Store
from bot.store.notices import StoredNotices
from tests.fakes.desk import HANDED_OVER, OFFERED, TENANT, TRACE, delivery
from tests.fakes.durable_inbox import record_answer
from tests.fakes.escalations import case_of, notice_of
from tests.fakes.http_server import wait_until
from tests.fakes.scenarios import BEN
from tests.fakes.teams import names
from tests.fakes.teams.activities import question
from tests.fakes.teams.builders import ASKER, CaseScenario, bot_at
from tests.fakes.teams.exchange import Fault
from tests.fakes.teams.server import FakeTeams
from tests.unit.bot.platforms.teams.escalations.conftest import Process


def ping(scene: CaseScenario) -> Notice:
    return notice_of(scene.question, 2, step="ping", to="people", actor=None, text="")


async def away(*_: object, **__: object) -> Any:  # noqa: ANN401
    raise StoreUnavailable("The record is away.")


async def test_a_card_begins_a_thread_in_the_peoples_channel(scene: CaseScenario) -> None:
    await scene.ask()
    card = scene.card
    assert (card.place, card.thread, card.reply_to) == (names.PEOPLE, card.id, None)
    assert "not confident enough to answer" in card.shown
    assert "vpn down?" in card.shown
    assert "(https://teams.microsoft.com/l/message/19%3Ahelp%40thread.tacv2/1700000000001" in (
        card.shown
    )
    assert "https://desk.example.com/board/escalations/" in card.shown
    assert "Waiting" in card.shown


async def test_where_it_is_goes_into_the_record_with_the_question(scene: CaseScenario) -> None:
    await scene.ask()
    assert await scene.noted() == PostedRef(names.PEOPLE, scene.card.id)
    assert await scene.channel.card_of(scene.question) == PostedRef(names.PEOPLE, scene.card.id)


MORE = ("Assign to \u2026", "Note")


async def test_every_step_edits_it_in_place(scene: CaseScenario) -> None:
    await scene.ask()
    posted, states, titles = scene.card.id, [], []
    for what, actor, words in (
        ("claim", BEN, ""),
        ("release", BEN, ""),
        ("reply", BEN, "Take the <at>blue</at> socket."),
        ("resolve", ASKER, ""),
        ("reopen", ASKER, "still broken"),
        ("decline", BEN, "ask facilities"),
    ):
        await scene.act(what, actor, words)  # type: ignore[arg-type]
        await scene.news()
        lines = scene.card.shown.splitlines()
        states.append(lines[lines.index(next(x for x in lines if "{{DATE" in x)) - 1])
        titles.append([each for each in scene.card.labels if each != "Send"])
        assert scene.card.id == posted
    assert states == [
        "Claimed by Ben Okafor",
        "Waiting",
        "Answered by Ben Okafor",
        "Closed by the asker",
        "Reopened, not assigned",
        "Declined by Ben Okafor",
    ]
    assert titles == [
        ["Reply", "Resolve", "Not for us", "Release", *MORE],
        ["Claim", "Reply", "Resolve", "Not for us", *MORE],
        ["Reply again", "Resolve", "Release", *MORE, "Keep as answer"],
        ["Keep as answer"],
        ["Claim", "Reply", "Resolve", "Not for us", *MORE],
        [],
    ]


async def test_steps_in_a_row_cost_one_edit(scene: CaseScenario) -> None:
    await scene.ask()
    before = scene.teams.calls.count("update")
    for what in ("claim", "release", "claim", "resolve"):
        await scene.act(what)
    await scene.news()
    assert "Resolved by Anna Lopez" in scene.card.shown
    edited = [each for each in scene.teams.edits if not each]
    assert len(edited) == 1, scene.teams.calls[before:]


async def test_another_process_edits_the_same_card(scene: CaseScenario, process: Process) -> None:
    await scene.ask()
    scene.channel = process()
    await scene.act("claim")
    await scene.news()
    assert "Claimed by Anna Lopez" in scene.card.shown


async def test_what_an_older_view_shows_does_not_come_back(scene: CaseScenario) -> None:
    case_id = await scene.ask()
    old = await scene.context.casework.bare("acme", case_id)
    await scene.act("claim")
    await scene.news()
    await scene.channel.show(scene.question, old)
    assert "Claimed by Anna Lopez" in scene.card.shown


async def test_a_repeated_delivery_posts_no_second_card(
    scene: CaseScenario, process: Process
) -> None:
    await scene.ask()
    sent = delivery(scene.question, HANDED_OVER)
    await process().deliver(sent)
    assert len(scene.in_people) == 1


async def test_a_card_that_may_have_got_through_is_posted_again_and_that_is_logged(
    scene: CaseScenario, process: Process
) -> None:
    """Teams can't be asked; better twice than never."""
    scene.teams.fail(Fault(status=502, after=True))
    with pytest.raises(DeliveryFailed):
        await scene.ask()
    assert await scene.noted() == PostedRef(names.PEOPLE, "")
    with capture_logs() as logs:
        await process().deliver(delivery(scene.question, HANDED_OVER))
    assert "teams.card_may_be_twice" in [each["event"] for each in logs]
    assert len(scene.in_people) == 2
    assert (await scene.noted()).id == scene.in_people[1].id


async def test_one_that_teams_did_certainly_not_take_is_not_suspected(
    scene: CaseScenario, process: Process
) -> None:
    scene.teams.fail(Fault(status=429, retry_after="60"))
    with pytest.raises(DeliveryFailed):
        await scene.ask()
    with capture_logs() as logs:
        await process().deliver(delivery(scene.question, HANDED_OVER))
    assert "teams.card_may_be_twice" not in [each["event"] for each in logs]
    assert len(scene.in_people) == 1


@pytest.mark.mended(id="slack-7")
@pytest.mark.parametrize("code", ["BotNotInConversationRoster", "NotEnoughPermissions"])
async def test_the_asker_hears_that_a_card_that_teams_refuses_is_on_the_board(
    scene: CaseScenario, code: str
) -> None:
    scene.teams.fail(Fault(status=403, code=code))
    await scene.ask()
    assert not scene.in_people
    (told,) = scene.teams.posts_in(scene.question.thread.channel)
    assert ON_HELP_DESK_LIST in told.text
    assert "I've asked" not in told.text


@pytest.mark.mended(id="slack-7")
async def test_the_operator_sees_which_people_are_not_reached_in_teams(scene: CaseScenario) -> None:
    scene.teams.fail(Fault(status=403, code="BotNotInConversationRoster"))
    await scene.ask()
    part = scene.channel.part()
    assert part.state == "failed"
    assert names.PEOPLE in part.detail
    assert "TEAMS_ESCALATION_CHANNEL" in part.cure


async def test_a_channel_that_is_not_there_is_told_as_well(scene: CaseScenario) -> None:
    await scene.ask(response=replace(HANDED_OVER, people="19:nowhere@thread.tacv2"))
    (told,) = scene.teams.posts_in(scene.question.thread.channel)
    assert ON_HELP_DESK_LIST in told.text


async def test_it_goes_where_the_questions_own_channel_asks_people(scene: CaseScenario) -> None:
    await scene.ask(response=replace(HANDED_OVER, people=names.GENERAL))
    assert not scene.in_people
    await scene.act("claim")
    await scene.news()
    (card,) = scene.teams.posts_in(names.GENERAL)
    assert "Claimed by Anna Lopez" in card.shown


async def test_people_are_asked_only_once_the_asker_agrees(scene: CaseScenario) -> None:
    asked = question(scene.teams, private=True)
    await scene.channel.deliver(delivery(asked, OFFERED))
    assert not scene.in_people


async def test_a_question_from_a_personal_chat_has_no_way_into_it(scene: CaseScenario) -> None:
    asked = question(scene.teams, private=True)
    await scene.channel.deliver(delivery(asked, HANDED_OVER))
    assert "Asked in a personal chat" in scene.card.shown
    assert "VPN guide" not in scene.card.shown, "its asker may read it, others perhaps not"


async def test_what_was_done_while_it_was_posted_is_on_it(
    scene: CaseScenario, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its news found no card yet."""
    put, claimed = store.notes.put, False

    async def claim_meanwhile(*args: Any, **more: Any) -> None:  # noqa: ANN401
        nonlocal claimed
        if not claimed:
            claimed = True
            await scene.act("claim")
            await scene.news()
        await put(*args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(store.notes, "put", claim_meanwhile)
        await scene.ask()
    assert "Claimed by Anna Lopez" in scene.card.shown


async def test_without_the_record_it_is_posted_all_the_same(
    scene: CaseScenario, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(store.notes, "put", away)
        patched.setattr(store.notes, "get", away)
        patched.setattr(store.escalations, "get", away)
        assert await scene.channel.people.ask(delivery(scene.question, HANDED_OVER))
    assert "vpn down?" in scene.card.shown


async def test_a_card_posted_while_the_record_was_away_is_no_second_one_when_it_is_back(
    scene: CaseScenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as outage:
        for name in ("get", "put", "remove"):
            outage.setattr(scene.store.notes, name, away)
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                await scene.ask()
    await scene.channel.deliver(delivery(scene.question, HANDED_OVER))
    assert len(scene.teams.posts_in(names.PEOPLE)) == 1
    await scene.act("claim")
    await scene.news()
    assert "Anna Lopez" in str(scene.teams.posts_in(names.PEOPLE)[0].cards)


async def test_what_teams_does_not_take_now_is_shown_later(scene: CaseScenario) -> None:
    await scene.ask()
    scene.teams.fail(Fault(status=500), call="update")
    await scene.act("claim")
    await scene.news()
    assert "Waiting" in scene.card.shown
    scene.ahead = timedelta(minutes=1)
    await scene.news()
    assert "Claimed by Anna Lopez" in scene.card.shown


async def test_a_card_that_somebody_deleted_is_left_alone(scene: CaseScenario) -> None:
    await scene.ask()
    del scene.teams.visible[scene.card.id]
    await scene.act("claim")
    await scene.news()
    assert not scene.in_people
    assert len(scene.told) == 1


async def test_a_withdrawn_question_takes_its_card_and_reminders_along(
    scene: CaseScenario, process: Process
) -> None:
    await scene.ask()
    reminder = await scene.channel.remind(case_of(scene.question), ping(scene))
    assert reminder is not None
    assert len(scene.in_people) == 2
    await process().withdraw(scene.question, [])
    assert not scene.in_people


async def test_a_card_that_can_not_be_deleted_twice_stops_nothing(scene: CaseScenario) -> None:
    await scene.ask()
    await scene.channel.withdraw(scene.question, [])
    await scene.channel.withdraw(scene.question, [])
    assert not scene.in_people


async def test_questions_of_other_platforms_have_no_card_here(scene: CaseScenario) -> None:
    asked = scene.question
    other = replace(asked, thread=replace(asked.thread, platform="slack"))
    assert await scene.channel.card_of(other) is None
    view = await scene.context.casework.bare("acme", await scene.ask())
    await scene.channel.show(other, view)


async def test_many_who_show_it_at_once_show_the_newest(scene: CaseScenario) -> None:
    case_id = await scene.ask()
    views = []
    for what in ("claim", "release", "claim"):
        await scene.act(what)
        views.append(await scene.context.casework.bare("acme", case_id))
    shown = (scene.channel.show(scene.question, view) for view in reversed(views))
    await asyncio.gather(*shown)
    assert "Claimed by Anna Lopez" in scene.card.shown


@pytest.mark.mended(id="slack-1c")
async def test_a_card_says_that_its_thread_is_not_read_while_it_takes_a_reply(
    scene: CaseScenario,
) -> None:
    await scene.ask()
    assert THREAD_NOT_READ in scene.card.shown

    await scene.act("resolve")
    await scene.news()
    assert THREAD_NOT_READ not in scene.card.shown


@pytest.mark.mended(id="slack-1d")
async def test_a_mention_below_a_settled_card_asks_nobody(
    teams: FakeTeams, process: Process, store: Store
) -> None:
    async with bot_at(teams, process(), store) as bot:
        await bot.answered(Outcome(HANDED_OVER, TRACE))
        (card,) = teams.posts_in(names.PEOPLE)
        (case,) = await store.escalations.find(TENANT, CaseQuery(), limit=2)
        await store.escalations.act(TENANT, case.interaction_id, "resolve", BEN)
        await bot.person(names.ANNA).say(card, "which laptop?")
        below = Thread("teams", TENANT, names.PEOPLE, card.id)
        await wait_until(lambda: len(teams.posts_in(names.PEOPLE)) > 1)

    (kept,) = await store.interactions.in_thread(below, 5)
    assert kept.outcome is not None
    assert not isinstance(kept.outcome.response, Escalation)
    (told,) = teams.posts_in(names.PEOPLE)[1:]
    assert (USE_REPLY in told.shown, told.cards) == (True, [])


def waiting(scene: CaseScenario) -> Case:
    """Return a question that has waited for half an hour."""
    since = datetime.now(UTC) - timedelta(minutes=30)
    return case_of(scene.question, opened_at=since, changed_at=since)


async def test_it_is_in_the_thread_of_the_card_and_says_how_long_the_question_waits(
    scene: CaseScenario,
) -> None:
    case_id = await scene.ask()
    ref = await scene.channel.remind(waiting(scene), ping(scene))
    card, post = scene.in_people
    assert post.thread == card.id
    assert ref is not None
    assert (ref.channel, ref.id) == (names.PEOPLE, post.id)
    assert post.text == (
        "**Nobody has claimed this question yet**; it has been waiting for 30 minutes.\n\n"
        "> vpn?\n\n"
        f"[Open on the board](https://desk.example.com/board/escalations/{case_id})"
    )


async def test_what_was_asked_elsewhere_is_not_quoted_and_says_where(scene: CaseScenario) -> None:
    await scene.channel.remind(replace(waiting(scene), channel="web:anna"), ping(scene))
    (post,) = scene.in_people
    assert "Asked on web." in post.text
    assert "vpn" not in post.text, "Teams would keep it when it is withdrawn there"
    assert post.thread == post.id


async def test_markup_in_the_question_is_dead(scene: CaseScenario) -> None:
    hostile = "<at>All</at> [x](https://evil.example)\n# big " + "word " * 200
    await scene.channel.remind(replace(waiting(scene), question=hostile), ping(scene))
    (post,) = scene.in_people
    assert "<at>" not in post.text
    assert "](https://evil" not in post.text
    assert len(post.text) < 800


async def test_a_question_that_was_opened_again_is_told_as_such(scene: CaseScenario) -> None:
    await scene.ask()
    case = replace(waiting(scene), status=CaseStatus("reopened"))
    await scene.channel.remind(case, replace(ping(scene), step="reopen"))
    assert "**A question was reopened** and is not assigned to anyone." in scene.in_people[1].text


@pytest.mark.mended(id="teams-2")
async def test_people_hear_that_an_answer_could_not_be_delivered(scene: CaseScenario) -> None:
    case = case_of(scene.question, reason="undelivered")
    notice = notice_of(scene.question, 1, step="open", to="people", actor=None, text="")
    await scene.channel.remind(case, notice)
    (post,) = scene.in_people
    assert "could not be delivered" in post.text


@pytest.mark.mended(id="slack-1d")
async def test_a_thread_that_a_reminder_began_takes_no_questions(scene: CaseScenario) -> None:
    await record_answer(scene.store, scene.question, "It was given, and not taken.")
    posted = await scene.channel.remind(waiting(scene), ping(scene))

    assert posted is not None
    below = replace(scene.question.thread, channel=names.PEOPLE, id=posted.id)
    assert await is_card_thread(scene.store.notes, below)


async def test_without_a_channel_there_is_nothing_to_do(
    scene: CaseScenario, process: Process
) -> None:
    channel = process()
    channel.people._channel = None  # noqa: SLF001  # as without the setting
    assert await channel.remind(waiting(scene), ping(scene)) is None
    assert not scene.in_people


async def test_the_same_reminder_is_posted_once_by_whichever_process(
    scene: CaseScenario, process: Process
) -> None:
    await scene.ask()
    first = await scene.channel.remind(waiting(scene), ping(scene))
    again = await process().remind(waiting(scene), replace(ping(scene), attempts=1))
    assert first == again
    assert len(scene.in_people) == 2


async def test_a_second_reminder_is_another(scene: CaseScenario) -> None:
    await scene.ask()
    await scene.channel.remind(waiting(scene), ping(scene))
    await scene.channel.remind(waiting(scene), replace(ping(scene), id="another", number=3))
    assert len(scene.in_people) == 3


async def test_one_that_may_have_got_through_is_posted_again(scene: CaseScenario) -> None:
    """Teams can't be asked; better twice than never."""
    await scene.ask()
    scene.teams.fail(Fault(status=502, after=True))
    with pytest.raises(DeliveryFailed):
        await scene.channel.remind(waiting(scene), ping(scene))
    await scene.channel.remind(waiting(scene), replace(ping(scene), attempts=1))
    assert len(scene.in_people) == 3


async def test_people_are_told_what_is_no_question_with_nothing_live(scene: CaseScenario) -> None:
    await scene.channel.tell_people("I stopped <at>All</at> in [HR](https://evil.example). --all")
    (post,) = scene.in_people
    assert "I stopped" in post.text
    assert "--all" in post.text
    assert "<at>" not in post.text
    assert "](https://evil" not in post.text


async def test_what_nobody_takes_is_put_to_the_second_level(scene: CaseScenario) -> None:
    await scene.ask()
    schedule = ReminderSchedule(second_level=timedelta(hours=2))
    await StoredNotices(scene.store.transactions, schedule).remind(scene.now() + timedelta(hours=3))
    await scene.news()
    (asked,) = (post for post in scene.teams.posts_in(names.GENERAL) if post.cards)
    assert "Nobody has claimed this question" in asked.shown

    await scene.visitor(names.BOB).press(asked, "Claim")
    await scene.news()
    assert "Claimed by Bob" in scene.card.shown
