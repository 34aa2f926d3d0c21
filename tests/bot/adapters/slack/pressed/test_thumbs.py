"""The thumbs below an answer, and why one was turned down."""

from __future__ import annotations

import json

import pytest

from bot.domain.errors import StoreUnavailable
from bot.domain.feedback import LONGEST_COMMENT
from bot.domain.interactions import Feedback, Outcome, Reply
from bot.domain.messages import InteractionId
from bot.platforms.slack.payloads.actions import ASK_PERSON, FEEDBACK, REASON
from tests.bot.adapters.outcomes import TRACE
from tests.bot.adapters.slack.answering import Bot
from tests.bot.adapters.slack.events import ALICE
from tests.bot.adapters.slack.workspace.faults import Fault
from tests.bot.adapters.slack.workspace.names import BOB, DIRECT, GUEST, HELP, PEOPLE
from tests.bot.house import until

UNKNOWN = "00000000-0000-4000-8000-000000000000"
UP, DOWN = "Helpful", "Not helpful"


async def _given(bot: Bot, asked: InteractionId) -> Feedback:
    (given,) = await bot.store.interactions.feedback(asked)
    return given


async def test_a_press_is_a_vote_and_is_thanked_for(bot: Bot) -> None:
    asked = await bot.answered()
    answer = await bot.person().click(bot.reply(asked), UP)
    assert answer.status == 200
    assert await bot.votes(asked.id) == {ALICE: "up"}
    thanks = await bot.told("Thanks")
    assert thanks.thread_ts == asked.message.thread.id


async def test_a_second_vote_replaces_the_first_of_the_same_person(bot: Bot) -> None:
    asked = await bot.answered()
    await bot.person().click(bot.reply(asked), UP)
    await bot.person(BOB).click(bot.reply(asked), UP)
    await bot.person().click(bot.reply(asked), DOWN)
    assert await bot.votes(asked.id) == {ALICE: "down", BOB: "up"}


async def test_a_button_and_a_reaction_are_one_vote(bot: Bot) -> None:
    asked = await bot.answered()
    await bot.person().click(bot.reply(asked), DOWN)
    await bot.person().react(bot.reply(asked), "+1")
    assert await bot.votes(asked.id) == {ALICE: "up"}


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("It's wrong", "wrong"),
        ("It's outdated", "outdated"),
        ("Not what I asked", "off_topic"),
        ("It's unclear", "unclear"),
    ],
)
async def test_a_thumb_down_is_asked_about_and_the_question_becomes_its_outcome(
    bot: Bot, label: str, reason: str
) -> None:
    asked = await bot.answered()
    alice = bot.person()
    await alice.click(bot.reply(asked), DOWN)
    question = await bot.told("What was wrong")
    assert "Ask a person" in question.labels
    await alice.click(question, label)
    await bot.told("noted")
    given = await _given(bot, asked.id)
    assert (given.vote, given.reason) == ("down", reason)
    assert len(bot.whispered()) == 1
    assert "What was wrong" not in bot.whispered()[0].shown


async def test_below_a_commands_answer_it_is_asked_where_the_bot_is_not(bot: Bot) -> None:
    alice = bot.person()
    bot.slack.channels.discard(HELP)
    await alice.command(HELP, "/frontdesk", "ask vpn down?")
    answer = await bot.told("Restart the client")
    await alice.click(answer, DOWN)
    await alice.click(await bot.told("What was wrong"), "It's outdated")
    await bot.told("noted")
    named = bot.said.asked[0].interaction_id
    given = await _given(bot, named)
    assert (given.vote, given.reason) == ("down", "outdated")


@pytest.mark.parametrize("way", ["Something else\u2026", "Say more\u2026"])
async def test_words_of_ones_own_are_kept_with_the_vote(bot: Bot, way: str) -> None:
    asked = await bot.answered()
    alice = bot.person()
    await alice.click(bot.reply(asked), DOWN)
    question = await bot.told("What was wrong")
    if way.startswith("Say"):
        await alice.click(question, "It's wrong")
        question = await bot.told("noted")
    await alice.click(question, way)
    form = await bot.modal()
    assert await alice.submit(form, {"comment": "It is port <443> & not 80."}) == {}
    given = await _given(bot, asked.id)
    assert given.comment == "It is port <443> & not 80."
    assert given.reason == ("wrong" if way.startswith("Say") else "other")
    await bot.told("what you wrote")
    assert len(bot.whispered()) == 1


async def test_the_form_takes_as_much_as_is_kept(bot: Bot) -> None:
    asked = await bot.answered()
    alice = bot.person()
    await alice.click(bot.reply(asked), DOWN)
    await alice.click(await bot.told("What was wrong"), "Something else\u2026")
    await alice.submit(await bot.modal(), {"comment": "x" * LONGEST_COMMENT})
    assert len((await _given(bot, asked.id)).comment or "") == LONGEST_COMMENT


async def test_what_was_written_is_not_lost_while_the_record_is_away(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await bot.answered()
    alice = bot.person()
    await alice.click(bot.reply(asked), DOWN)
    await alice.click(await bot.told("What was wrong"), "Something else\u2026")
    form = await bot.modal()

    async def away(*_: object) -> None:
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(bot.store.interactions, "rate", away)
    answer = await alice.submit(form, {"comment": "port 443"})
    assert answer["errors"] == {
        "comment": "That didn't work just now. Please try again in a minute."
    }
    monkeypatch.undo()
    assert await alice.submit(form) == {}
    assert (await _given(bot, asked.id)).comment == "port 443"


async def test_a_person_is_asked_for_from_the_question_what_was_wrong(bot: Bot) -> None:
    asked = await bot.answered()
    await bot.person().click(bot.reply(asked), DOWN)
    await bot.person().click(await bot.told("What was wrong"), ASK_PERSON)
    await until(lambda: len(bot.said.asked) == 2)
    assert bot.said.asked[1].id == f"{asked.message.id}:person"


async def test_who_is_no_colleague_is_told_so(bot: Bot) -> None:
    asked = await bot.answered()
    await bot.person(GUEST).click(bot.reply(asked), UP)
    await bot.told("Only colleagues", GUEST)
    assert await bot.votes(asked.id) == {}


async def test_a_press_that_is_not_kept_is_told(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = await bot.answered()

    async def away(*_: object) -> None:
        raise StoreUnavailable("password=hunter2")

    monkeypatch.setattr(bot.store.interactions, "rate", away)
    answer = await bot.person().click(bot.reply(asked), UP)
    assert answer.status == 200
    told = await bot.told("try again")
    assert "hunter2" not in told.shown


async def test_an_answer_that_is_withdrawn_is_gone(bot: Bot) -> None:
    asked = await bot.answered()
    reply = bot.reply(asked)
    await bot.store.work.cancel(asked.id)
    await bot.person().click(reply, UP)
    await bot.told("isn't here any more")


@pytest.mark.parametrize(
    "value",
    [None, "", "up", "up:", "sideways:{id}", "up:{id}x", "up:\x00", f"up:{UNKNOWN}", "x" * 2000, 7],
)
async def test_values_that_nobody_was_given_change_nothing(bot: Bot, value: object) -> None:
    asked = await bot.answered()
    named = value.replace("{id}", asked.id) if isinstance(value, str) else value
    answer = await bot.press(bot.reply(asked), FEEDBACK, named)
    assert answer.status == 200
    assert await bot.votes(asked.id) == {}


@pytest.mark.parametrize("elsewhere", [PEOPLE, DIRECT])
async def test_a_press_counts_only_in_the_channel_of_the_answer(bot: Bot, elsewhere: str) -> None:
    asked = await bot.answered()
    await bot.person().door.interact(bot.pressed(elsewhere, FEEDBACK, f"up:{asked.id}"))
    await bot.told("isn't here any more")
    assert await bot.votes(asked.id) == {}


async def test_anothers_private_answer_is_nobodys_to_judge(bot: Bot) -> None:
    asked = await bot.answered(channel=bot.person(BOB).direct, user=BOB)
    await bot.press(bot.reply(asked), FEEDBACK, f"up:{asked.id}")
    await bot.told("isn't here any more")
    assert await bot.votes(asked.id) == {}


async def test_an_unknown_reason_is_acknowledged_and_not_kept(bot: Bot) -> None:
    asked = await bot.answered()
    answer = await bot.press(bot.reply(asked), f"{REASON}:boring", f"boring:{asked.id}")
    assert answer.status == 200
    assert await bot.votes(asked.id) == {}


@pytest.mark.parametrize("metadata", ["", "[]", "{}", "nonsense", json.dumps({"id": UNKNOWN})])
async def test_a_form_about_nothing_says_so(bot: Bot, metadata: str) -> None:
    asked = await bot.answered()
    alice = bot.person()
    await alice.click(bot.reply(asked), DOWN)
    await alice.click(await bot.told("What was wrong"), "Something else\u2026")
    form = await bot.modal()
    form.payload["private_metadata"] = metadata
    answer = await alice.submit(form, {"comment": "port 443"})
    assert "comment" in answer["errors"]
    assert (await _given(bot, asked.id)).comment is None


async def test_nothing_is_asked_where_there_is_nothing_to_judge(bot: Bot) -> None:
    asked = await bot.answered(Outcome(Reply("Hello!", "generic"), TRACE))
    await bot.press(bot.reply(asked), FEEDBACK, f"down:{asked.id}")
    await bot.told("no answer to judge")


async def test_a_vote_counts_though_its_presser_cannot_be_told(bot: Bot) -> None:
    asked = await bot.answered()
    bot.slack.fail("response_url", Fault(status=500))
    answer = await bot.person().click(bot.reply(asked), UP)
    assert (answer.status, await bot.votes(asked.id)) == (200, {ALICE: "up"})


@pytest.mark.parametrize("change", [{"user": {}}, {"user": None}, {"container": {}, "channel": {}}])
async def test_a_press_of_nobody_or_nowhere_is_acknowledged(
    bot: Bot, change: dict[str, object]
) -> None:
    asked = await bot.answered()
    pressed = {**bot.pressed(HELP, FEEDBACK, f"up:{asked.id}"), **change}
    assert (await bot.person().door.interact(pressed)).status == 200
    assert await bot.votes(asked.id) == {}
