"""Where an answer goes: below its question, or into the message that an older version opened."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain.errors import DeliveryFailed, DeliveryRefused
from bot.domain.interactions import PostedRef
from bot.domain.messages import Message
from bot.domain.ports import OpensPlaceholders, Withdraws
from bot.platforms.teams.channel import TeamsChannel
from bot.store.database import Store
from tests.bot.adapters.outcomes import ANSWER, delivery
from tests.bot.adapters.teams.activities import CHANNEL, into, question
from tests.bot.adapters.teams.conftest import Restart
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant.faults import Fault

LONG = replace(ANSWER, text="\n\n".join(f"Step {n}: " + "word " * 100 for n in range(60)))


def shown(teams: FakeTeams) -> list[str]:
    return [sent.activity["text"] for sent in teams.messages]


async def placed(channel: TeamsChannel, message: Message) -> PostedRef:
    """Return where an older version said that it looks something up."""
    said = {"type": "message", "text": "Looking this up", "textFormat": "plain"}
    return PostedRef(CHANNEL, await channel.connector.send(message.reply_to, said))


def test_teams_opens_placeholders_and_takes_replies_back(channel: TeamsChannel) -> None:
    assert isinstance(channel, OpensPlaceholders)
    assert isinstance(channel, Withdraws)


async def test_the_reply_is_edited_into_the_placeholder_by_another_process(
    teams: FakeTeams, restart: Restart
) -> None:
    message = question(teams)
    opened = await placed(restart(), message)
    ref = await restart().deliver(into(opened, delivery(message)))
    (sent,) = teams.messages
    assert ref == opened == PostedRef(CHANNEL, sent.id)
    assert sent.activity["text"].startswith("Restart the client [1].")
    (entity,) = sent.activity["entities"]
    assert entity["additionalType"] == ["AIGeneratedContent"]
    assert len(entity["citation"]) == 1
    assert sent.authorization == "Bearer token-1"


async def test_the_answer_has_its_thumbs_in_the_placeholder(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    message = question(teams)
    opened = await placed(channel, message)
    ref = await channel.deliver(into(opened, delivery(message, LONG)))
    thumbs = ["feedbackLoop" in sent.activity.get("channelData", {}) for sent in teams.messages]
    assert thumbs == [True] + [False] * (len(thumbs) - 1)
    assert len(thumbs) > 1
    assert ref == opened


@pytest.mark.parametrize("status", [404, 405])
async def test_a_placeholder_that_its_reader_deleted_is_posted_anew(
    teams: FakeTeams, channel: TeamsChannel, status: int
) -> None:
    message = question(teams)
    opened = await placed(channel, message)
    del teams.visible[opened.id]
    if status == 405:
        teams.fail(Fault(status=405), call="update")
    ref = await channel.deliver(into(opened, delivery(message)))
    (sent,) = teams.messages
    assert ref.id == sent.id != opened.id
    assert await channel.deliver(into(opened, delivery(message))) == ref
    assert len(teams.messages) == 1


async def test_a_conversation_that_is_gone_is_given_up(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    gone = Fault(status=404, code="ConversationNotFound")
    teams.fail(gone, call="update")
    teams.fail(gone)
    sent = into(PostedRef(CHANNEL, "reply-9"), delivery(question(teams)))
    with pytest.raises(DeliveryRefused, match="ConversationNotFound"):
        await channel.deliver(sent)


async def test_a_removed_bot_gives_up_without_posting_beside_the_placeholder(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    message = question(teams)
    opened = await placed(channel, message)
    teams.fail(Fault(status=403, code="BotNotInConversationRoster"), call="update")
    with pytest.raises(DeliveryRefused, match="BotNotInConversationRoster"):
        await channel.deliver(into(opened, delivery(message)))
    assert teams.calls == ["message", "update"]


async def test_where_the_bot_was_removed_nothing_is_tried_until_something_comes_from_there(
    teams: FakeTeams, noted_restart: Restart
) -> None:
    message = question(teams)
    teams.fail(Fault(status=403, code="BotNotInConversationRoster"))
    with pytest.raises(DeliveryRefused, match="BotNotInConversationRoster"):
        await noted_restart().deliver(delivery(message))
    with pytest.raises(DeliveryRefused, match="removed"):
        await noted_restart().deliver(delivery(message))
    assert teams.calls == ["message"]
    await noted_restart().presence.back(message.thread.channel)
    await noted_restart().deliver(delivery(message))
    assert len(teams.messages) == 1


async def test_a_no_to_an_edit_is_believed_by_all_processes(
    teams: FakeTeams, noted_restart: Restart
) -> None:
    """Microsoft asks not to try again."""
    message = question(teams)
    opened = await placed(noted_restart(), message)
    teams.fail(Fault(status=403, code="ConversationBlockedByUser"), call="update")
    for _ in range(2):
        with pytest.raises(DeliveryRefused):
            await noted_restart().deliver(into(opened, delivery(message)))
    assert teams.calls == ["message", "update"]


async def test_a_no_of_unknown_meaning_is_believed_for_one_reply_alone(
    teams: FakeTeams, noted_restart: Restart
) -> None:
    """What is before Teams may say 403 for a moment: whoever waits there is still answered."""
    message = question(teams)
    opened = await placed(noted_restart(), message)
    teams.fail(Fault(status=403, code="AccessDenied"), call="update")
    with pytest.raises(DeliveryRefused, match="AccessDenied"):
        await noted_restart().deliver(into(opened, delivery(message)))
    await noted_restart().deliver(into(opened, delivery(message)))
    assert teams.edits


async def test_an_edit_that_may_have_got_through_is_tried_again_later_and_not_at_once(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    """Msrest would try edits again by itself, and then say nothing of the status."""
    message = question(teams)
    opened = await placed(channel, message)
    teams.fail(Fault(status=502, after=True, retry_after="9"), call="update")
    with pytest.raises(DeliveryFailed, match="502") as failed:
        await channel.deliver(into(opened, delivery(message)))
    assert failed.value.retry_after_seconds == 9.0
    assert teams.calls == ["message", "update"]


async def test_further_parts_follow_once_the_first_is_visible(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    message = question(teams)
    opened = await placed(channel, message)
    teams.fail(None, Fault(status=503))
    with pytest.raises(DeliveryFailed):
        await channel.deliver(into(opened, delivery(message, LONG)))
    assert shown(teams)[0].startswith("_(1 of ")
    ref = await channel.deliver(into(opened, delivery(message, LONG)))
    assert ref == opened
    whole = "".join(shown(teams))
    assert [whole.count(f"Step {n}: ") for n in range(60)] == [1] * 60
    assert teams.calls.count("update") == 1


async def test_after_a_restart_no_part_is_seen_twice(
    teams: FakeTeams, noted_restart: Restart, store: Store
) -> None:
    message = question(teams)
    await store.work.open(message, "here")
    opened = await placed(noted_restart(), message)
    sent = into(opened, delivery(message, LONG))
    await noted_restart().deliver(sent)
    once = shown(teams)
    assert await noted_restart().deliver(sent) == opened
    assert shown(teams) == once
    assert len(once) > 1


async def test_another_process_goes_on_with_the_parts_that_are_missing(
    teams: FakeTeams, noted_restart: Restart, store: Store
) -> None:
    message = question(teams)
    await store.work.open(message, "here")
    teams.fail(None, None, Fault(status=503))
    with pytest.raises(DeliveryFailed):
        await noted_restart().deliver(delivery(message, LONG))
    ref = await noted_restart().deliver(delivery(message, LONG))
    marks = [text.split("\n")[0] for text in shown(teams)]
    assert marks == [f"_({n} of {len(marks)})_" for n in range(1, len(marks) + 1)]
    assert ref.id == teams.messages[0].id


async def test_a_part_that_was_posted_but_not_noted_is_posted_again_and_says_which_it_is(
    teams: FakeTeams, noted_restart: Restart, store: Store
) -> None:
    """Teams cannot be asked: this is what remains, and docs/teams.md says it."""
    message = question(teams)
    await store.work.open(message, "here")
    teams.fail(None, Fault(status=0, after=True))
    with pytest.raises(DeliveryFailed):
        await noted_restart().deliver(delivery(message, LONG))
    await noted_restart().deliver(delivery(message, LONG))
    marks = [text.split("\n")[0] for text in shown(teams)]
    assert [mark[2] for mark in marks[:3]] == ["1", "2", "2"]
    assert len(set(marks)) == len(marks) - 1


async def test_each_further_part_leads_to_its_question(
    teams: FakeTeams, noted_restart: Restart, store: Store
) -> None:
    message = question(teams)
    await store.work.open(message, "here")
    await noted_restart().deliver(delivery(message, LONG))
    parts = noted_restart().parts
    for sent in teams.messages:
        assert await parts.question_of("acme", CHANNEL, sent.id) == message.interaction_id
    assert await parts.question_of("acme", CHANNEL, "another") is None


async def test_eight_thousand_characters_are_one_activity(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    await channel.deliver(delivery(question(teams), replace(ANSWER, text="word " * 1600)))
    assert len(teams.messages) == 1
