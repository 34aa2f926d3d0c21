"""Tests of buttons and reactions: who may act on what, and which answers are judged."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest

from bot.answering.visibility import Visibility
from bot.chat.actions import (
    ActingUser,
    ActionRejected,
    ActionTargets,
    ButtonQuestions,
    interaction_named,
    message_below,
)
from bot.chat.votes import AnswerVotes, ChatVotes, Reaction, can_be_rated
from bot.domain.errors import FeedbackInvalid, InteractionUnknown
from bot.domain.handoff import PERSON_REQUEST, person_request, person_request_id
from bot.domain.interactions import (
    Clarification,
    Feedback,
    Interaction,
    Outcome,
    Reply,
    Response,
    Vote,
)
from bot.domain.messages import FoundPassage, InteractionId, Message, Person, Refusal
from bot.domain.outcomes import refused_outcome
from bot.store.database import Store
from rag.types import Chunk
from tests.fakes.builders import chunk, message
from tests.fakes.desk import ANSWER, HANDED_OVER, TRACE, KeepingInbox
from tests.fakes.durable_inbox import record_answer

ASKED = message("vpn?", private=False)
PRIVATE = message("vpn?", private=True)
ASKER = ASKED.author.id
HERE = ASKED.thread.channel


class Knows:
    """Knows colleagues by the reference "colleague", and counts who asks."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def of(self, reference: str, /) -> Person | None:
        self.asked.append(reference)
        return Person("other") if reference == "colleague" else None


def _subjects(
    store: Store,
    knows: Knows | None = None,
    *,
    tenant: str = "",
    platform: str = "",
    anywhere: Callable[[Message], bool] = lambda _: False,
) -> ActionTargets:
    return ActionTargets(
        platform=platform or ASKED.thread.platform,
        tenant=tenant or ASKED.thread.tenant,
        interactions=store.interactions,
        colleague=(knows or Knows()).of,
        anywhere=anywhere,
    )


def _presser(
    person: str = "other", reference: str = "colleague", *, channel: str = HERE, alone: bool = False
) -> ActingUser:
    return ActingUser(Person(person), channel, reference, alone=alone)


async def _kept(store: Store, asked: Message) -> Interaction:
    return await record_answer(store, asked, Outcome(ANSWER, TRACE))


async def test_its_asker_and_colleagues_act_on_a_question(store: Store) -> None:
    asked, knows = await _kept(store, ASKED), Knows()
    for presser in (_presser(ASKER, "guest"), _presser()):
        assert await _subjects(store, knows).acted_on(asked.id, presser) == asked
    assert knows.asked == ["colleague"]


async def test_who_is_no_colleague_sees_a_question_and_does_not_act_on_it(store: Store) -> None:
    asked, guest = await _kept(store, ASKED), _presser(reference="guest")
    assert await _subjects(store).seen(asked.id, guest) == asked
    with pytest.raises(ActionRejected, match="Only colleagues"):
        await _subjects(store).acted_on(asked.id, guest)


async def test_a_private_question_is_its_askers(store: Store) -> None:
    asked = await _kept(store, PRIVATE)
    assert await _subjects(store).acted_on(asked.id, _presser(ASKER)) == asked
    with pytest.raises(ActionRejected, match="That question is no longer here"):
        await _subjects(store).seen(asked.id, _presser())
    assert not await _subjects(store).may_act(asked.message, _presser())


@pytest.mark.parametrize(
    "presser",
    [
        _presser(channel="elsewhere"),
        _presser(channel="elsewhere", alone=True),
        _presser(ASKER, channel="elsewhere"),
    ],
    ids=["another", "another alone", "the asker among others"],
)
async def test_a_question_is_where_it_was_asked(store: Store, presser: ActingUser) -> None:
    asked = await _kept(store, ASKED)
    with pytest.raises(ActionRejected, match="That question is no longer here"):
        await _subjects(store).seen(asked.id, presser)


async def test_what_somebody_asked_is_theirs_where_they_are_alone(store: Store) -> None:
    asked = await _kept(store, ASKED)
    alone = _presser(ASKER, channel="elsewhere", alone=True)
    assert await _subjects(store).seen(asked.id, alone) == asked


async def test_what_can_be_pressed_anywhere_is_seen_anywhere(store: Store) -> None:
    asked = await _kept(store, ASKED)
    everywhere = _subjects(store, anywhere=lambda _: True)
    assert await everywhere.seen(asked.id, _presser(channel="elsewhere")) == asked


@pytest.mark.parametrize("other", [{"tenant": "other"}, {"platform": "other"}], ids=str)
async def test_nothing_of_others_is_there(store: Store, other: dict[str, str]) -> None:
    asked = await _kept(store, ASKED)
    with pytest.raises(ActionRejected, match="That question is no longer here"):
        await _subjects(
            store, tenant=other.get("tenant", ""), platform=other.get("platform", "")
        ).seen(asked.id, _presser(ASKER, alone=True))


async def test_a_withdrawn_question_is_not_there(store: Store) -> None:
    asked = await _kept(store, ASKED)
    await store.work.cancel(asked.id)
    with pytest.raises(ActionRejected, match="That question is no longer here"):
        await _subjects(store).seen(asked.id, _presser(ASKER))


@pytest.mark.parametrize("value", ["", "x", "0" * 36, "00000000-0000-4000-8000-00000000000G", "\n"])
def test_only_an_id_names_an_interaction(value: str) -> None:
    with pytest.raises(ActionRejected, match="no longer works"):
        interaction_named(value)
    assert interaction_named(ASKED.interaction_id) == ASKED.interaction_id


BEN = Person("ben", "Ben")
OPTIONS = Clarification("Which one?", options=("Booking leave", "Public holidays"))
PAGES = {
    title: chunk("Text.", chunk_id=title, title=title, section="") for title in OPTIONS.options
}
OFFERED = Outcome(
    OPTIONS,
    replace(TRACE, passages=tuple(FoundPassage(t, PAGES[t].page_id, t, "", {}) for t in PAGES)),
)


class Wiki:
    """Its open pages, by chunk."""

    def __init__(self) -> None:
        self.open: dict[str, Chunk] = dict(PAGES)

    async def visibility(self, _: Interaction) -> Visibility:
        return Visibility(self.open)


@pytest.fixture
def inbox() -> KeepingInbox:
    return KeepingInbox()


@pytest.fixture
def wiki() -> Wiki:
    return Wiki()


@pytest.fixture
def wishing(store: Store, inbox: KeepingInbox, wiki: Wiki) -> ButtonQuestions:
    return ButtonQuestions(interactions=store.interactions, inbox=inbox, visibility=wiki.visibility)


async def _kept_answer(
    store: Store, asked: Message = ASKED, outcome: Outcome | None = None
) -> Interaction:
    return await record_answer(store, asked, outcome or Outcome(ANSWER, TRACE))


async def test_a_wish_is_its_pressers_message_in_the_thread(
    store: Store, wishing: ButtonQuestions, inbox: KeepingInbox
) -> None:
    asked = await _kept_answer(store)
    await wishing.ask_person(asked, ASKED.author, reply_to="there")
    wish = inbox.only
    assert (wish.id, wish.author, wish.text) == (f"{ASKED.id}:person", ASKED.author, PERSON_REQUEST)
    assert (wish.thread, wish.private, wish.reply_to) == (ASKED.thread, False, "there")


async def test_a_wish_names_its_question_when_another_was_asked_since(
    store: Store, wishing: ButtonQuestions, inbox: KeepingInbox
) -> None:
    asked = await _kept_answer(store)
    await _kept_answer(store, replace(ASKED, id="m2", text="canteen?"))
    await wishing.ask_person(asked, BEN, reply_to="")
    assert inbox.only.text == person_request("vpn?")


@pytest.mark.mended(id="teams-1")
async def test_a_wish_names_the_question_of_somebody_else(
    store: Store, wishing: ButtonQuestions, inbox: KeepingInbox
) -> None:
    asked = await _kept_answer(store)
    await wishing.ask_person(asked, BEN, reply_to="")
    assert inbox.only.text == person_request("vpn?")


async def test_the_same_wish_is_made_once_by_whomever(
    store: Store, wishing: ButtonQuestions
) -> None:
    asked = await _kept_answer(store)
    await store.work.open(
        message_below(ASKED, person_request_id(ASKED.id), BEN, text=PERSON_REQUEST, reply_to=""),
        "server",
    )
    with pytest.raises(ActionRejected, match="already"):
        await wishing.ask_person(asked, Person("cleo"), reply_to="")


@pytest.mark.mended(id="attack-10")
async def test_a_wish_that_a_limit_refused_was_not_asked_already(
    store: Store, wishing: ButtonQuestions
) -> None:
    asked = await _kept_answer(store)
    wish = message_below(ASKED, person_request_id(ASKED.id), BEN, text=PERSON_REQUEST, reply_to="")
    await _kept_answer(store, wish, refused_outcome(wish, Refusal("Later.", "pause")))
    with pytest.raises(ActionRejected) as declined:
        await wishing.ask_person(asked, BEN, reply_to="")
    assert "already" not in str(declined.value)


async def test_who_asked_for_a_person_in_words_has_asked(
    store: Store, wishing: ButtonQuestions, inbox: KeepingInbox
) -> None:
    asked = await _kept_answer(store)
    people = replace(HANDED_OVER, reason="asked_for_human", question="vpn?")
    await _kept_answer(store, replace(ASKED, id="m2", text="yes"), Outcome(people, TRACE))
    with pytest.raises(ActionRejected, match="already"):
        await wishing.ask_person(asked, BEN, reply_to="")
    assert not inbox.messages


async def test_an_option_is_asked_as_it_was_offered(
    store: Store, wishing: ButtonQuestions, inbox: KeepingInbox
) -> None:
    asked = await _kept_answer(store, outcome=OFFERED)
    assert await wishing.choose(asked, "1", BEN, reply_to="") == "Public holidays"
    assert (inbox.only.id, inbox.only.text) == (f"{ASKED.id}:option", "Public holidays")


async def test_no_option_of_a_closed_page_can_be_chosen(
    store: Store, wishing: ButtonQuestions, inbox: KeepingInbox, wiki: Wiki
) -> None:
    asked = await _kept_answer(store, outcome=OFFERED)
    del wiki.open["Public holidays"]
    with pytest.raises(ActionRejected, match="choice is no longer available"):
        await wishing.choose(asked, "1", BEN, reply_to="")
    assert not inbox.messages


async def test_a_wish_does_not_name_a_page_that_was_closed_since(
    store: Store, wishing: ButtonQuestions, inbox: KeepingInbox, wiki: Wiki
) -> None:
    chosen = replace(ASKED, text="Public holidays")
    asked = await _kept_answer(store, chosen, Outcome(ANSWER, OFFERED.trace))
    del wiki.open["Public holidays"]
    await wishing.ask_person(asked, BEN, reply_to="")
    assert inbox.only.text == PERSON_REQUEST


async def test_a_wish_does_not_name_an_option_whose_page_was_not_found(
    store: Store, wishing: ButtonQuestions, inbox: KeepingInbox
) -> None:
    """The page was closed before the option was answered: nothing in its record is from it."""
    asked = await _kept_answer(store, outcome=OFFERED)
    await wishing.choose(asked, "1", BEN, reply_to="")
    chosen = await _kept_answer(store, inbox.messages.popitem()[1], Outcome(ANSWER, TRACE))
    await wishing.ask_person(chosen, Person("cleo"), reply_to="")
    assert inbox.only.text == PERSON_REQUEST


async def test_a_wish_below_an_option_names_what_its_asker_typed(
    store: Store, wishing: ButtonQuestions, inbox: KeepingInbox
) -> None:
    """The page may be closed later, when the request is read again."""
    asked = await _kept_answer(store, outcome=OFFERED)
    await wishing.choose(asked, "1", BEN, reply_to="")
    chosen = await _kept_answer(store, inbox.messages.popitem()[1], Outcome(ANSWER, OFFERED.trace))
    await wishing.ask_person(chosen, Person("cleo"), reply_to="")
    assert inbox.only.text == person_request(ASKED.text)


@pytest.mark.parametrize("number", ["2", "-1", "01", "\u0661", "", " 1", "9" * 5_000])
async def test_an_option_that_was_not_offered_is_declined(
    store: Store, wishing: ButtonQuestions, number: str
) -> None:
    asked = await _kept_answer(store, outcome=Outcome(OPTIONS, TRACE))
    with pytest.raises(ActionRejected, match="choice is no longer available"):
        await wishing.choose(asked, number, BEN, reply_to="")


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
    return (await record_answer(store, asked, Outcome(response, TRACE))).id


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


UP, GONE = Reaction("1.000001", given="up"), Reaction("2.5", taken=frozenset({"up"}))
DOWN = Reaction("10.000000", given="down")


async def _react(store: Store, asked: InteractionId, reaction: Reaction) -> Vote | None:
    """Count a reaction of Ben, as another process would."""
    interaction = await store.interactions.get(asked)
    assert interaction is not None
    return await _votes_of(store).react(interaction, _presser("ben"), reaction)


def _votes_of(store: Store) -> ChatVotes:
    return ChatVotes(_subjects(store), store.notes)


async def _asked_for_reactions(store: Store, outcome: Outcome | None = None) -> InteractionId:
    return (
        await record_answer(
            store, message("vpn?", private=False), outcome or Outcome(ANSWER, TRACE)
        )
    ).id


async def _votes(store: Store, asked: InteractionId) -> list[str]:
    return [each.vote for each in await store.interactions.feedback(asked)]


@pytest.mark.parametrize("order", list(itertools.permutations([UP, GONE, DOWN])), ids=range(6))
async def test_the_last_one_counts(store: Store, order: tuple[Reaction, ...]) -> None:
    asked = await _asked_for_reactions(store)
    for reaction in [*order, *order]:
        await _react(store, asked, reaction)
    assert await _votes(store, asked) == ["down"]


async def test_a_new_vote_is_told_once(store: Store) -> None:
    asked = await _asked_for_reactions(store)
    told = [await _react(store, asked, each) for each in (UP, UP, DOWN, DOWN)]
    assert told == ["up", None, "down", None]


async def test_taking_back_leaves_a_vote_that_was_given_otherwise(store: Store) -> None:
    asked = await _asked_for_reactions(store)
    await AnswerVotes(store.interactions).vote("default", asked, "ben", "down")
    await _react(store, asked, GONE)
    assert await _votes(store, asked) == ["down"]


async def test_what_can_not_be_judged_is_not_counted(store: Store) -> None:
    asked = await _asked_for_reactions(store, Outcome(HANDED_OVER, TRACE))
    assert await _react(store, asked, UP) is None
    assert await _votes(store, asked) == []


async def test_what_is_not_there_is_not_counted(store: Store) -> None:
    unknown = InteractionId("00000000-0000-4000-8000-000000000000")
    deleted = replace(await _kept(store, ASKED), id=unknown)
    assert await _votes_of(store).react(deleted, _presser("ben"), UP) is None
    with pytest.raises(InteractionUnknown):
        await AnswerVotes(store.interactions).vote("default", unknown, "ben", "up")


async def test_who_may_not_act_on_an_answer_has_no_vote(store: Store) -> None:
    asked = await _kept(store, ASKED)
    guest = _presser("ben", "guest")
    assert await _votes_of(store).react(asked, guest, UP) is None
    assert await _votes(store, asked.id) == []


async def test_a_vote_on_what_can_not_be_judged_is_rejected_in_words(store: Store) -> None:
    asked = await _asked_for_reactions(store, Outcome(HANDED_OVER, TRACE))
    for voting in (
        _votes_of(store).vote(asked, "ben", "up"),
        _votes_of(store).say_why(asked, "ben", reason="wrong"),
    ):
        with pytest.raises(ActionRejected, match="There is no answer to rate here any more"):
            await voting


async def test_an_actor_on_a_case_is_a_colleague_or_the_asker_in_their_channel(
    store: Store,
) -> None:
    asked, targets = await _kept(store, ASKED), _subjects(store)

    expert, asker = await targets.expert(_presser()), await targets.asker(asked.id, _presser(ASKER))

    assert (expert.id, expert.role) == (f"{ASKED.thread.platform}:other", "expert")
    assert (asker.id, asker.role) == (ASKER, "asker")
    for acting in (
        targets.expert(_presser(reference="guest")),
        targets.asker(asked.id, _presser("ben")),
        targets.asker(asked.id, _presser(ASKER, channel="elsewhere")),
    ):
        with pytest.raises(ActionRejected):
            await acting
