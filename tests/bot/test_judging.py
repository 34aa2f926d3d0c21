"""Which answers are judged, by whom, and what becomes of an earlier judgement."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.chat.votes import AnswerVotes, can_be_rated
from bot.domain.errors import FeedbackInvalid, InteractionUnknown
from bot.domain.feedback import Vote
from bot.domain.interactions import Clarification, Feedback, Outcome, Reply, Response
from bot.domain.messages import InteractionId
from bot.store.database import Store
from tests.bot.adapters.outcomes import ANSWER, HANDED_OVER, TRACE
from tests.bot.recorded import answered
from tests.builders import message

TENANT = "default"
NOT_JUDGED: tuple[Response, ...] = (
    replace(ANSWER, sources=()),
    Reply("Hello!", "generic"),
    Clarification("Which one?", options=("a", "b")),
    HANDED_OVER,
)


@pytest.fixture
def judging(store: Store) -> AnswerVotes:
    return AnswerVotes(store.interactions)


async def _asked(
    store: Store, response: Response = ANSWER, *, private: bool = False
) -> InteractionId:
    asked = message("vpn?", private=private)
    return (await answered(store, asked, Outcome(response, TRACE))).id


async def _given(store: Store, interaction_id: InteractionId) -> dict[str, Feedback]:
    return {each.person_id: each for each in await store.interactions.feedback(interaction_id)}


async def test_a_second_vote_replaces_the_first(store: Store, judging: AnswerVotes) -> None:
    asked = await _asked(store)
    await judging.vote(TENANT, asked, "ben", "up")
    await judging.vote(TENANT, asked, "ben", "down")
    await judging.vote(TENANT, asked, "cleo", "up")
    given = await _given(store, asked)
    assert {person: each.vote for person, each in given.items()} == {"ben": "down", "cleo": "up"}


async def test_the_same_vote_again_keeps_what_was_said(store: Store, judging: AnswerVotes) -> None:
    asked = await _asked(store)
    await judging.say_why(TENANT, asked, "ben", reason="outdated", comment="see the new page")
    await judging.vote(TENANT, asked, "ben", "down")
    given = (await _given(store, asked))["ben"]
    assert (given.reason, given.comment) == ("outdated", "see the new page")


async def test_words_with_the_same_vote_again_replace_the_words_alone(
    store: Store, judging: AnswerVotes
) -> None:
    asked = await _asked(store)
    assert await judging.vote(TENANT, asked, "ben", "down", comment="too old")
    await judging.say_why(TENANT, asked, "ben", reason="outdated")
    assert not await judging.vote(TENANT, asked, "ben", "down", comment="see the new page")
    given = (await _given(store, asked))["ben"]
    assert (given.vote, given.reason, given.comment) == ("down", "outdated", "see the new page")


async def test_another_vote_drops_what_was_said(store: Store, judging: AnswerVotes) -> None:
    asked = await _asked(store)
    await judging.say_why(TENANT, asked, "ben", reason="outdated")
    await judging.vote(TENANT, asked, "ben", "up")
    given = (await _given(store, asked))["ben"]
    assert (given.vote, given.reason) == ("up", None)


async def test_a_comment_is_added_to_a_reason(store: Store, judging: AnswerVotes) -> None:
    asked = await _asked(store)
    await judging.vote(TENANT, asked, "ben", "down")
    await judging.say_why(TENANT, asked, "ben", reason="wrong")
    await judging.say_why(TENANT, asked, "ben", comment="it is port 443")
    given = (await _given(store, asked))["ben"]
    assert (given.vote, given.reason, given.comment) == ("down", "wrong", "it is port 443")


@pytest.mark.parametrize(
    ("now", "withdrawn", "left"),
    [("up", "up", None), ("up", "down", "up"), ("down", "up", "down"), (None, "up", None)],
)
async def test_only_the_vote_that_counts_is_taken_back(
    store: Store, judging: AnswerVotes, now: Vote | None, withdrawn: Vote, left: Vote | None
) -> None:
    asked = await _asked(store)
    if now is not None:
        await judging.vote(TENANT, asked, "ben", now)
    taken = await judging.take_back(TENANT, asked, "ben", withdrawn)
    given = (await _given(store, asked)).get("ben")
    assert (given.vote if given else None) == left
    assert taken == (now == withdrawn)


@pytest.mark.parametrize("response", NOT_JUDGED, ids=lambda each: each.kind)
async def test_what_has_no_sources_is_not_judged(
    store: Store, judging: AnswerVotes, response: Response
) -> None:
    asked = await _asked(store, response)
    assert not can_be_rated(Outcome(response, TRACE))
    with pytest.raises(FeedbackInvalid, match="nothing to judge"):
        await judging.vote(TENANT, asked, "ben", "up")


async def test_a_withdrawn_answer_is_not_judged(store: Store, judging: AnswerVotes) -> None:
    asked = await _asked(store)
    await store.work.cancel(asked)
    with pytest.raises(FeedbackInvalid):
        await judging.vote(TENANT, asked, "ben", "up")


async def test_nothing_of_another_tenant_is_judged(store: Store, judging: AnswerVotes) -> None:
    asked = await _asked(store)
    with pytest.raises(InteractionUnknown):
        await judging.vote("other", asked, "ben", "up")
    with pytest.raises(InteractionUnknown):
        await judging.take_back("other", asked, "ben", "up")
    with pytest.raises(InteractionUnknown):
        await judging.say_why("other", asked, "ben", reason="wrong")


async def test_a_private_answer_is_judged_by_its_asker_alone(
    store: Store, judging: AnswerVotes
) -> None:
    asked = await _asked(store, private=True)
    with pytest.raises(InteractionUnknown):
        await judging.vote(TENANT, asked, "ben", "up")
    await judging.vote(TENANT, asked, "anna", "up")
    assert set(await _given(store, asked)) == {"anna"}


async def test_what_was_never_asked_is_unknown(judging: AnswerVotes) -> None:
    with pytest.raises(InteractionUnknown, match="'nothing'"):
        await judging.vote(TENANT, InteractionId("nothing"), "ben", "up")


async def test_an_unknown_reason_is_refused(store: Store, judging: AnswerVotes) -> None:
    asked = await _asked(store)
    with pytest.raises(FeedbackInvalid, match="boring"):
        await judging.say_why(TENANT, asked, "ben", reason="boring")
    assert await _given(store, asked) == {}
