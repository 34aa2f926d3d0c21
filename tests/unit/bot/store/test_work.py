"""Tests of what is kept of the work on a message, and of what each step leaves behind."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.domain.errors import ClaimLost, InteractionUnknown
from bot.domain.interactions import (
    Claim,
    Escalation,
    Feedback,
    Outcome,
    PostedRef,
    Reply,
    Route,
    Status,
    Trace,
)
from bot.domain.messages import Activity, Attachment, InteractionId, Message, Person, Stage
from bot.store.database import Store
from rag.types import ModelCall
from tests.fakes.bot_ports import generic_outcome
from tests.fakes.builders import NOON, message
from tests.fakes.durable_inbox import OWNER, record_answer, stored_interaction, thread_exchanges
from tests.fakes.record_rows import rows

NOBODY = InteractionId("00000000-0000-0000-0000-000000000000")
REF = PostedRef("C1", "17.5")


def numbered(number: int, *, thread: str = "t1") -> Message:
    return message(f"question {number}", message_id=f"m{number}", thread=thread)


async def test_what_is_opened_is_kept_as_it_came(store: Store) -> None:
    asked = message("Where is \x00 the VPN? 🔑")

    opened = await store.work.open(asked, "me")

    assert opened.message == asked
    assert opened.status == "working"
    assert opened.claim == Claim("me", 1)
    assert abs((datetime.now(UTC) - opened.created_at).total_seconds()) < 60
    assert await store.work.get(asked.interaction_id) == opened
    assert await store.interactions.get(asked.interaction_id) == opened


async def test_opening_twice_keeps_the_first_and_whose_it_is(store: Store) -> None:
    first = await store.work.open(message("first"), "me")

    again = await store.work.open(message("second"), "another")

    assert again == first


async def test_opening_the_same_message_at_once_makes_one_row(store: Store) -> None:
    opened = await asyncio.gather(*(store.work.open(message("hi"), f"{n}") for n in range(30)))

    assert len(set(opened)) == 1
    assert len(await store.work.unfinished()) == 1


async def test_messages_are_numbered_as_they_arrive(store: Store) -> None:
    numbers = [(await store.work.open(numbered(n), "me")).number for n in range(5)]

    assert numbers == sorted(set(numbers))


async def test_an_outcome_is_recorded_once(store: Store) -> None:
    opened = await store.work.open(message("hi"), "me")
    assert await store.work.close(opened, generic_outcome("first"), last=False)
    assert await store.work.close(opened, generic_outcome("second"), last=False)

    kept = await stored_interaction(store, opened.id)

    assert kept.outcome == generic_outcome("first")
    assert (kept.status, kept.posting, kept.posted) == ("done", True, None)
    assert kept.finished_at is not None
    assert await store.interactions.stages(kept.id) == [Activity(Stage.DONE)]
    assert await thread_exchanges(store, numbered(2)) == [("hi", "first")]


async def test_closing_what_was_never_opened_is_an_error(store: Store) -> None:
    opened = await store.work.open(message("hi"), "me")

    with pytest.raises(InteractionUnknown, match=NOBODY):
        await store.work.close(replace(opened, id=NOBODY), generic_outcome("?"), last=True)


@pytest.mark.parametrize(
    "claim", [None, Claim("me", 2), Claim("me", 0), Claim("another", 1)], ids=repr
)
async def test_without_its_claim_nothing_is_recorded(store: Store, claim: Claim | None) -> None:
    opened = await store.work.open(message("hi"), "me")

    with pytest.raises(ClaimLost, match="Leave it to who has it"):
        await store.work.close(replace(opened, claim=claim), generic_outcome("late"), last=True)
    with pytest.raises(ClaimLost):
        await store.work.posting(replace(opened, claim=claim))

    assert await stored_interaction(store, opened.id) == opened
    assert await store.interactions.history(opened.message.thread, numbered(2), 10) == []
    assert await store.interactions.stages(opened.id) == []


async def test_an_outcome_of_the_text_before_an_edit_is_not_recorded(
    store: Store,
) -> None:
    opened = await store.work.open(message("old"), "me")
    assert await store.work.amend(message("new"))

    assert not await store.work.close(opened, generic_outcome("of the old"), last=False)
    assert (await stored_interaction(store, opened.id)).outcome is None
    assert await store.work.close(opened, generic_outcome("of the old"), last=True)

    kept = await stored_interaction(store, opened.id)
    assert (kept.status, kept.revision) == ("done", 1)


async def test_an_edited_message_replaces_the_first_until_it_is_answered(store: Store) -> None:
    opened = await store.work.open(message("frist"), "me")
    assert await store.work.amend(message("first"))
    current = await stored_interaction(store, opened.id)
    assert await store.work.close(current, generic_outcome("ok"), last=False)

    assert not await store.work.amend(message("too late"))

    assert [asked for asked, _ in await thread_exchanges(store, numbered(2))] == ["first"]


async def test_an_amendment_brings_files_and_takes_none_away(store: Store) -> None:
    log = Attachment("vpn.log", "text/plain", 9, "https://files.example/vpn.log")
    opened = await store.work.open(message("first"), "me")
    await store.work.amend(replace(message("first"), attachments=(log,)))
    await store.work.amend(message("second"))

    kept = (await stored_interaction(store, opened.id)).message
    assert (kept.text, kept.attachments) == ("second", (log,))


async def test_nobody_changes_what_another_asked(store: Store) -> None:
    opened = await store.work.open(message("first"), "me")

    assert not await store.work.amend(replace(message("mine"), author=Person("mallory")))
    assert (await stored_interaction(store, opened.id)).message.text == "first"


async def test_editing_what_was_never_asked_changes_nothing(store: Store) -> None:
    assert not await store.work.amend(message("hello"))
    assert await store.interactions.get(message("hello").interaction_id) is None


async def test_what_a_call_cost_and_what_people_get_is_kept_once(store: Store, url: str) -> None:
    call = ModelCall("answer", "large", "answer@1", 900, 80, 700.0, cost_micro_usd=120)
    trace = Trace(generic_outcome("").trace.route, calls=(call, replace(call, cost_micro_usd=None)))
    to_people = Outcome(Escalation("I'll ask.", "low_confidence", "VPN \x00?"), trace)
    opened = await store.work.open(message("hi", private=False), "me")

    for _ in range(2):
        assert await store.work.close(opened, to_people, last=True)

    usage = "SELECT sequence, person, model, input_tokens, cost_usd FROM usage ORDER BY sequence"
    assert rows(url, usage) == [(1, "anna", "large", 900, 0.00012), (2, "anna", "large", 900, None)]
    assert rows(url, "SELECT state, reason, question FROM escalations") == [
        ("open", "low_confidence", "VPN \N{REPLACEMENT CHARACTER}?")
    ]


async def test_what_its_asker_must_agree_to_is_on_nobodys_list(store: Store, url: str) -> None:
    route: Route = generic_outcome("").trace.route
    offered = Escalation("Shall I?", "low_confidence", "VPN?", consent_needed=True)
    opened = await store.work.open(message("hi"), "me")

    await store.work.close(opened, Outcome(offered, Trace(route)), last=True)

    assert rows(url, "SELECT * FROM escalations") == []


async def test_a_post_is_noted_before_and_after(store: Store) -> None:
    opened = await store.work.open(message("hi"), "me")
    await store.work.posting(opened)
    assert (await stored_interaction(store, opened.id)).posting

    await store.work.close(opened, generic_outcome("hello"), last=True)
    after = await store.work.posted(opened.id, REF)

    assert (after.posted, after.posting, after.status) == (REF, False, "done")
    assert after == await stored_interaction(store, opened.id)


async def test_posts_that_failed_are_counted(store: Store) -> None:
    kept = await record_answer(store, message("hi"), "hello")
    for _ in range(3):
        await store.work.unposted(kept)

    assert (await stored_interaction(store, kept.id)).attempts == 3


async def test_what_is_given_up_keeps_its_outcome_and_why(store: Store) -> None:
    kept = await record_answer(store, message("hi"), "hello")

    await store.work.fail(kept, "The channel is gone.")

    given_up = await stored_interaction(store, kept.id)
    assert (given_up.status, given_up.failure) == ("failed", "The channel is gone.")
    assert given_up.outcome == generic_outcome("hello")


async def test_what_is_not_answered_cannot_be_given_up(store: Store) -> None:
    opened = await store.work.open(message("hi"), "me")

    with pytest.raises(ClaimLost):
        await store.work.fail(opened, "?")

    assert (await stored_interaction(store, opened.id)).status == "working"


async def test_a_placeholder_is_kept_also_before_its_place_is_known(store: Store) -> None:
    opened = await store.work.open(message("hi"), "me")
    for ref in (PostedRef("C1", ""), PostedRef("C1", "9.9")):
        await store.work.placeholder(opened, ref)
        assert (await stored_interaction(store, opened.id)).placeholder == ref


async def test_cancelling_forgets_every_text_and_ends_the_claim(store: Store, url: str) -> None:
    asked = replace(message("my secret", private=False), reply_to="where to")
    trace = Trace(generic_outcome("").trace.route)
    answer = Outcome(Escalation("secret answer", "low_confidence", "my secret"), trace)
    kept = await record_answer(store, asked, answer)
    judged = Feedback(kept.id, "anna", "up", NOON, comment="secret too")
    await store.interactions.rate(judged)

    cancelled = await store.work.cancel(kept.id)

    assert (cancelled.status, cancelled.outcome, cancelled.claim) == ("cancelling", None, None)
    assert (cancelled.message.text, cancelled.message.reply_to) == ("", "where to")
    for table in ("turns", "feedback", "escalation_steps"):
        assert rows(url, f"SELECT * FROM {table}") == []  # noqa: S608 - a test's own name
    for table in ("interactions", "escalations"):
        assert "secret" not in repr(rows(url, f"SELECT * FROM {table}"))  # noqa: S608 - as above

    await store.work.cancelled(kept.id)
    gone = await stored_interaction(store, kept.id)
    assert (gone.status, gone.message.reply_to) == ("cancelled", "")


async def test_cancelling_twice_is_once(store: Store) -> None:
    kept = await record_answer(store, message("hi"), "hello")
    await store.work.cancel(kept.id)
    await store.work.cancelled(kept.id)

    again = await store.work.cancel(kept.id)

    assert again.status == "cancelled"
    assert again == await stored_interaction(store, kept.id)


async def test_nobody_cancels_what_was_never_asked(store: Store) -> None:
    with pytest.raises(InteractionUnknown, match=NOBODY):
        await store.work.cancel(NOBODY)


async def test_what_is_cancelled_takes_no_outcome(store: Store) -> None:
    opened = await store.work.open(message("hi"), "me")
    await store.work.cancel(opened.id)

    with pytest.raises(ClaimLost):
        await store.work.close(opened, generic_outcome("too late"), last=True)
    assert not await store.work.amend(message("too late"))
    with pytest.raises(ClaimLost):
        await store.work.fail(opened, "too late")

    kept = await stored_interaction(store, opened.id)
    assert (kept.status, kept.outcome) == ("cancelling", None)
    assert await store.interactions.history(opened.message.thread, numbered(2), 10) == []


@pytest.mark.mended(id="teams-1")
async def test_a_case_of_an_undelivered_answer_has_its_askers_words_alone(store: Store) -> None:
    asked = message("and on a Mac?", private=False)
    route = replace(generic_outcome("").trace.route, question="and on a Mac? (another's VPN)")
    trace = replace(generic_outcome("").trace, route=route)
    await record_answer(store, asked, Outcome(Reply("So.", tone="answer"), trace))
    await store.work.fail(await stored_interaction(store, asked.interaction_id), "Refused.")

    case = await store.escalations.get("default", asked.interaction_id)
    assert case is not None
    assert (case.reason, case.question) == ("undelivered", "and on a Mac?")


async def test_a_post_that_got_through_while_it_was_cancelled_is_known(store: Store) -> None:
    kept = await record_answer(store, message("hi"), "hello")
    await store.work.cancel(kept.id)

    after = await store.work.posted(kept.id, REF)

    assert (after.status, after.posted) == ("cancelling", REF)


async def test_unfinished_is_what_is_not_answered_posted_or_taken_back(
    store: Store,
) -> None:
    work = store.work
    states: list[Status] = ["working", "done", "done", "failed", "cancelling", "cancelled"]
    asked = [numbered(number) for number in range(len(states))]
    await work.open(asked[0], OWNER)
    done = [await record_answer(store, asked[number], "ok") for number in range(1, 6)]
    await work.posted(asked[1].interaction_id, REF)
    await work.fail(done[2], "Gone.")
    await work.cancel(asked[4].interaction_id)
    await work.cancel(asked[5].interaction_id)
    await work.cancelled(asked[5].interaction_id)

    assert [
        (await stored_interaction(store, each.interaction_id)).status for each in asked
    ] == states
    left = [item.id for item in await work.unfinished()]
    assert left == [asked[number].interaction_id for number in (0, 2, 4)]
