"""Test where replies and their further parts go, what shows meanwhile, and what is taken back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.chat.adapters import NullNotes
from bot.domain.errors import DeliveryFailed, DeliveryRefused
from bot.domain.interactions import PostedRef, Reply
from bot.domain.messages import Activity, Message, Person, Stage, Thread
from bot.domain.ports import OpensPlaceholders, Withdraws
from bot.platforms.teams.channel import TeamsChannel
from bot.platforms.teams.messages import replies as module
from bot.platforms.teams.messages.replies import REPLY, PostedActivities
from bot.platforms.teams.payloads.messages import question_of
from bot.store.database import Store, unopened
from tests.fakes.builders import NOON
from tests.fakes.desk import ANSWER, delivery
from tests.fakes.teams.activities import CHANNEL, in_channel, question, with_placeholder
from tests.fakes.teams.exchange import Fault
from tests.fakes.teams.names import GROUP
from tests.fakes.teams.server import FakeTeams
from tests.unit.bot.platforms.teams.conftest import Restart

LONG = replace(ANSWER, text="\n\n".join(f"Step {n}: " + "word " * 400 for n in range(60)))


def shown(teams: FakeTeams) -> list[str]:
    return [sent.activity["text"] for sent in teams.messages]


async def placed(channel: TeamsChannel, message: Message) -> PostedRef:
    """Return where an older version said that it looks something up."""
    said = {"type": "message", "text": "Looking this up", "textFormat": "plain"}
    return PostedRef(CHANNEL, await channel.client.send(message.reply_to, said))


def test_teams_opens_placeholders_and_takes_replies_back(channel: TeamsChannel) -> None:
    assert isinstance(channel, OpensPlaceholders)
    assert isinstance(channel, Withdraws)


async def test_the_reply_is_edited_into_the_placeholder_by_another_process(
    teams: FakeTeams, restart: Restart
) -> None:
    message = question(teams)
    opened = await placed(restart(), message)
    ref = await restart().deliver(with_placeholder(opened, delivery(message)))
    (sent,) = teams.messages
    assert ref == opened == PostedRef(CHANNEL, sent.id)
    assert sent.text.startswith("Restart the client [1].")
    (entity,) = sent.activity["entities"]
    assert entity["additionalType"] == ["AIGeneratedContent"]
    assert sent.authorization == "Bearer token-1"


async def test_the_answer_has_its_thumbs_in_the_placeholder(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    message = question(teams)
    opened = await placed(channel, message)
    ref = await channel.deliver(with_placeholder(opened, delivery(message, LONG)))
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
    ref = await channel.deliver(with_placeholder(opened, delivery(message)))
    (sent,) = teams.messages
    assert ref.id == sent.id != opened.id
    assert await channel.deliver(with_placeholder(opened, delivery(message))) == ref
    assert len(teams.messages) == 1


async def test_a_conversation_that_is_gone_is_given_up(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    gone = Fault(status=404, code="ConversationNotFound")
    teams.fail(gone, call="update")
    teams.fail(gone)
    sent = with_placeholder(PostedRef(CHANNEL, "reply-9"), delivery(question(teams)))
    with pytest.raises(DeliveryRefused, match="ConversationNotFound"):
        await channel.deliver(sent)


async def test_a_removed_bot_gives_up_without_posting_beside_the_placeholder(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    message = question(teams)
    opened = await placed(channel, message)
    teams.fail(Fault(status=403, code="BotNotInConversationRoster"), call="update")
    with pytest.raises(DeliveryRefused, match="BotNotInConversationRoster"):
        await channel.deliver(with_placeholder(opened, delivery(message)))
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
    await noted_restart().client.removals.clear(message.thread.channel)
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
            await noted_restart().deliver(with_placeholder(opened, delivery(message)))
    assert teams.calls == ["message", "update"]


async def test_a_no_of_unknown_meaning_is_believed_for_one_reply_alone(
    teams: FakeTeams, noted_restart: Restart
) -> None:
    """What is before Teams may say 403 for a moment: whoever waits there is still answered."""
    message = question(teams)
    opened = await placed(noted_restart(), message)
    teams.fail(Fault(status=403, code="AccessDenied"), call="update")
    with pytest.raises(DeliveryRefused, match="AccessDenied"):
        await noted_restart().deliver(with_placeholder(opened, delivery(message)))
    await noted_restart().deliver(with_placeholder(opened, delivery(message)))
    assert teams.edits


async def test_an_edit_that_may_have_got_through_is_tried_again_later_and_not_at_once(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    """Msrest would try edits again by itself, and then say nothing of the status."""
    message = question(teams)
    opened = await placed(channel, message)
    teams.fail(Fault(status=502, after=True, retry_after="9"), call="update")
    with pytest.raises(DeliveryFailed, match="502") as failed:
        await channel.deliver(with_placeholder(opened, delivery(message)))
    assert failed.value.retry_after_seconds == 9.0
    assert teams.calls == ["message", "update"]


async def test_further_parts_follow_once_the_first_is_visible(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    message = question(teams)
    opened = await placed(channel, message)
    teams.fail(None, Fault(status=503))
    with pytest.raises(DeliveryFailed):
        await channel.deliver(with_placeholder(opened, delivery(message, LONG)))
    assert shown(teams)[0].startswith("_(1 of ")
    ref = await channel.deliver(with_placeholder(opened, delivery(message, LONG)))
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
    sent = with_placeholder(opened, delivery(message, LONG))
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
    """Teams cannot be asked: this is what remains, and docs/teams-delivery.md says it."""
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
    posted = noted_restart().posted
    for sent in teams.messages:
        assert await posted.question_of("acme", CHANNEL, sent.id) == message.interaction_id
    assert await posted.question_of("acme", CHANNEL, "another") is None


async def test_eight_thousand_characters_are_one_activity(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    await channel.deliver(delivery(question(teams), replace(ANSWER, text="word " * 1600)))
    assert len(teams.messages) == 1


LONG_WITHOUT_STEPS = replace(ANSWER, text="word " * 24_000)


@pytest.mark.parametrize("reply", [ANSWER, LONG_WITHOUT_STEPS], ids=["one part", "several parts"])
async def test_a_withdrawn_reply_is_deleted_with_its_further_parts(
    teams: FakeTeams, channel: TeamsChannel, reply: Reply
) -> None:
    other = await channel.deliver(delivery(question(teams, private=True)))
    message = question(teams)
    opened = await placed(channel, message)
    ref = await channel.deliver(with_placeholder(opened, delivery(message, reply)))
    await channel.withdraw(message, [opened, ref])
    assert [sent.id for sent in teams.messages] == [other.id]


async def test_after_a_restart_what_is_recorded_is_deleted(
    teams: FakeTeams, restart: Restart
) -> None:
    message = question(teams)
    opened = await placed(restart(), message)
    await restart().withdraw(message, [opened])
    assert not teams.messages


async def test_after_a_restart_further_parts_go_too(
    teams: FakeTeams, noted_restart: Restart, store: Store
) -> None:
    message = question(teams)
    await store.work.open(message, "here")
    opened = await placed(noted_restart(), message)
    ref = await noted_restart().deliver(
        with_placeholder(opened, delivery(message, LONG_WITHOUT_STEPS))
    )
    assert len(teams.messages) > 1
    await noted_restart().withdraw(message, [opened, ref])
    assert not teams.messages


async def test_what_is_gone_already_is_no_error(teams: FakeTeams, channel: TeamsChannel) -> None:
    message = question(teams)
    opened = await placed(channel, message)
    for _ in range(2):
        await channel.withdraw(message, [opened])
    assert teams.calls == ["message", "delete", "delete"]


async def test_a_withdrawal_that_fails_is_tried_again_later(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    message = question(teams)
    opened = await placed(channel, message)
    teams.fail(Fault(status=502, retry_after="9"), call="delete")
    with pytest.raises(DeliveryFailed, match="502") as failed:
        await channel.withdraw(message, [opened])
    assert failed.value.retry_after_seconds == 9.0
    await channel.withdraw(message, [opened])
    assert not teams.messages


THREAD = Thread("teams", "acme", "19:help@thread.tacv2", "1")
MESSAGE = Message("1", THREAD, Person("alice-object-id"), "vpn?", NOON)


async def test_a_single_part_is_remembered_and_not_noted(store: Store) -> None:
    await store.work.open(MESSAGE, "here")
    here = PostedActivities(store.notes)
    await here.store(MESSAGE, REPLY, ["a"], several=False)
    assert await here.ids_of(MESSAGE, REPLY, several=False) == ("a",)
    assert await here.all_ids_of(MESSAGE) == ("a",)
    assert await PostedActivities(store.notes).all_ids_of(MESSAGE) == ()


async def test_several_parts_are_known_to_every_process_in_their_order(store: Store) -> None:
    await store.work.open(MESSAGE, "here")
    here, there = PostedActivities(store.notes), PostedActivities(store.notes)
    for posted in (["b"], ["b", "a"]):
        await here.store(MESSAGE, REPLY, posted, several=True)
    assert await there.ids_of(MESSAGE, REPLY, several=True) == ("b", "a")
    assert await there.question_of("acme", THREAD.channel, "a") == MESSAGE.interaction_id
    assert await there.question_of("acme", "another", "a") is None
    assert await there.question_of("another", THREAD.channel, "a") is None


async def test_replies_and_notices_of_one_question_are_found_together(store: Store) -> None:
    await store.work.open(MESSAGE, "here")
    here = PostedActivities(store.notes)
    await here.store(MESSAGE, REPLY, ["a"], several=False)
    await PostedActivities(store.notes).store(MESSAGE, "notice-1", ["b", "c"], several=True)
    other = replace(MESSAGE, id="2")
    await here.store(other, REPLY, ["d"], several=False)
    assert await here.all_ids_of(MESSAGE) == ("a", "b", "c")
    assert await here.ids_of(MESSAGE, "notice-2", several=True) == ()


async def test_what_can_not_be_noted_is_known_here_all_the_same(tmp_path: Path) -> None:
    away = unopened(f"sqlite+aiosqlite:///{tmp_path}/nowhere/frontdesk.sqlite")
    here = PostedActivities(away.notes)
    await here.store(MESSAGE, REPLY, ["a", "b"], several=True)
    assert await here.ids_of(MESSAGE, REPLY, several=True) == ("a", "b")
    await away.close()


async def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REMEMBERED", 2)
    here = PostedActivities(NullNotes())
    for name in "123":
        await here.store(replace(MESSAGE, id=name), REPLY, [name], several=False)
    known = [await here.all_ids_of(replace(MESSAGE, id=name)) for name in "123"]
    assert known == [(), ("2",), ("3",)]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    clock = [100.0]
    monkeypatch.setattr("bot.platforms.teams.client.rate_limits.time.monotonic", lambda: clock[0])
    return clock


def in_group(teams: FakeTeams) -> Message:
    group = {"id": GROUP, "conversationType": "groupChat", "isGroup": True}
    activity = in_channel(teams, "<at>Help</at> vpn?", conversation=group)
    message = question_of(activity, tenant="acme", received_at=datetime.now(UTC))
    assert message is not None
    return message


@pytest.mark.mended(id="teams-3")
@pytest.mark.parametrize(
    ("asked", "seen"), [(question, []), (in_group, ["typing"] * 2)], ids=["channel", "group chat"]
)
async def test_where_others_read_the_bot_writes_no_placeholder_and_types_in_chats(
    teams: FakeTeams,
    channel: TeamsChannel,
    clock: list[float],
    asked: Callable[[FakeTeams], Message],
    seen: list[str],
) -> None:
    message = asked(teams)
    assert not channel.has_placeholder(message)
    assert await channel.open_placeholder(message, needed=True) is None
    for seconds in (0.0, 9.0, 2.0):
        clock[0] += seconds
        await channel.progress(message, Activity(Stage.SEARCHING), None)
    assert teams.calls == seen
    assert not teams.messages


@pytest.mark.parametrize("status", [403, 404, 429, 500])
async def test_typing_that_is_refused_is_left_alone_for_that_message(
    teams: FakeTeams,
    channel: TeamsChannel,
    clock: list[float],
    status: int,
    waits: list[float],
) -> None:
    message = in_group(teams)
    teams.fail(Fault(status=status, retry_after="30"), call="typing")
    for _ in range(3):
        await channel.progress(message, Activity(Stage.SEARCHING), None)
        clock[0] += 12.0
    assert teams.calls == ["typing"]
    assert not waits
    await channel.progress(question(teams, private=True), Activity(Stage.SEARCHING), None)
    assert len(teams.calls) == 2
