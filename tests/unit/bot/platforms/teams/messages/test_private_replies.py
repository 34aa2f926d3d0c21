"""Test what only the asker may read of an answer: where it goes, and where it never goes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.domain.errors import DeliveryRefused
from bot.domain.interactions import Reply
from bot.domain.messages import Message
from bot.domain.settings import Settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client.registration import Cloud
from bot.platforms.teams.payloads.messages import question_of
from bot.store.database import Store
from tests.fakes.desk import ANSWER, VPN, delivery
from tests.fakes.teams.activities import MENTION, in_channel, in_person, question
from tests.fakes.teams.credentials import CountingCredentials
from tests.fakes.teams.exchange import Fault
from tests.fakes.teams.names import ALICE, APP_ID, CAROL, GENERAL, GROUP, HELP
from tests.fakes.teams.people import chat_of
from tests.fakes.teams.posts import Sent
from tests.fakes.teams.server import FakeTeams
from tests.unit.bot.platforms.teams.conftest import Restart

PAY = replace(VPN, chunk_id="p1", title="Pay bands", quote="Band 4 starts at 41,000.")
SECRET = Reply(text="Band 4 starts at 41,000 [1].", tone="answer", sources=(PAY,), confidence=0.9)
LONG = replace(SECRET, text="\n\n".join(f"Row {n}: " + "word " * 400 for n in range(60)))


@pytest.fixture
def settings(settings: Settings, teams: FakeTeams) -> Settings:
    return settings.model_copy(update={"teams_service_url": f"{teams.url}/"})


@pytest.fixture
def channel(settings: Settings, cloud: Cloud, store: Store, waits: list[float]) -> TeamsChannel:
    async def pause(seconds: float) -> None:
        waits.append(seconds)

    credentials = CountingCredentials()
    return connect(settings, store.notes, cloud=cloud, credentials=credentials, pause=pause)


async def asked(teams: FakeTeams, store: Store, **changes: Any) -> Message:  # noqa: ANN401
    """Return a question of a channel, as it is kept."""
    activity = in_channel(teams, "<at>Help</at> what is *band* 4? <b>", **changes)
    message = question_of(activity, tenant="acme", received_at=datetime.now(UTC))
    assert message is not None
    await store.work.open(message, "here")
    return message


def from_carol() -> dict[str, Any]:
    return {"from": {"id": "29:carol", "name": "Carol", "aadObjectId": CAROL}}


def whispers(teams: FakeTeams, person: str = ALICE) -> list[Sent]:
    return teams.posts_in(chat_of(person))


async def test_the_fuller_reply_goes_to_the_askers_chat_and_no_word_of_it_to_the_channel(
    teams: FakeTeams, channel: TeamsChannel, store: Store
) -> None:
    message = await asked(teams, store)
    ref = await channel.deliver(delivery(message, ANSWER, SECRET))
    (reply,) = teams.posts_in(HELP)
    assert ref.id == reply.id
    assert "41,000" not in reply.shown
    (whisper,) = whispers(teams)
    assert whisper.text.startswith("> what is \\*band\\* 4?")
    assert "Only for you" in whisper.text
    assert "<b>" not in whisper.text
    assert "Band 4 starts at 41,000 [1]." in whisper.text
    assert "[1] Pay bands" in whisper.shown


async def test_nobody_is_asked_to_judge_or_to_answer_what_was_whispered(
    teams: FakeTeams, channel: TeamsChannel, store: Store
) -> None:
    await channel.deliver(delivery(await asked(teams, store), ANSWER, SECRET))
    (whisper,) = whispers(teams)
    assert "feedbackLoop" not in whisper.activity.get("channelData", {})
    assert not whisper.labels
    assert "human" not in whisper.text


async def test_in_a_group_chat_it_is_the_same(
    teams: FakeTeams, channel: TeamsChannel, store: Store
) -> None:
    group = {"id": GROUP, "conversationType": "groupChat", "isGroup": True}
    message = await asked(teams, store, conversation=group, entities=[MENTION])
    await channel.deliver(delivery(message, ANSWER, SECRET))
    assert "41,000" not in "".join(sent.shown for sent in teams.posts_in(GROUP))
    assert len(whispers(teams)) == 1


async def test_in_a_personal_chat_there_is_nothing_more_to_say(
    teams: FakeTeams, channel: TeamsChannel, store: Store
) -> None:
    message = question(teams, private=True)
    await store.work.open(message, "here")
    await channel.deliver(delivery(message, ANSWER, SECRET))
    assert len(teams.messages) == 1
    assert "create" not in teams.calls


async def test_a_delivery_that_is_repeated_elsewhere_whispers_once(
    teams: FakeTeams, noted_restart: Restart, store: Store
) -> None:
    sent = delivery(await asked(teams, store), ANSWER, LONG)
    for _ in range(2):
        await noted_restart().deliver(sent)
    marks = [each.text.split("\n")[0] for each in whispers(teams)]
    assert marks == [f"_({n} of {len(marks)})_" for n in range(1, len(marks) + 1)]
    assert len(marks) > 1


async def test_parts_that_are_missing_are_added_by_another_process(
    teams: FakeTeams, noted_restart: Restart, store: Store
) -> None:
    sent = delivery(await asked(teams, store), ANSWER, LONG)
    teams.fail(None, Fault(status=400))
    for _ in range(2):
        await noted_restart().deliver(sent)
    marks = [each.text.split("\n")[0] for each in whispers(teams)]
    assert marks == [f"_({n} of {len(marks)})_" for n in range(1, len(marks) + 1)]


@pytest.mark.parametrize("status", [0, 400, 413, 429, 502])
async def test_a_whisper_that_fails_leaves_the_reply_as_it_is(
    teams: FakeTeams, channel: TeamsChannel, store: Store, status: int
) -> None:
    message = await asked(teams, store)
    teams.fail(None, *[Fault(status=status, retry_after="9")] * 3)
    await channel.deliver(delivery(message, ANSWER, SECRET))
    assert len(teams.posts_in(HELP)) == 1
    assert not whispers(teams)


async def test_what_teams_may_take_in_a_moment_is_tried_again(
    teams: FakeTeams, channel: TeamsChannel, store: Store, waits: list[float]
) -> None:
    message = await asked(teams, store)
    teams.fail(None, Fault(status=502), Fault(status=503, retry_after="4"))
    await channel.deliver(delivery(message, ANSWER, SECRET))
    assert len(whispers(teams)) == 1
    assert waits == [pytest.approx(1.125, abs=0.125), 4.0]


async def test_who_has_no_chat_with_the_bot_is_told_how_to_get_one_once_in_each_channel(
    teams: FakeTeams, noted_restart: Restart, store: Store
) -> None:
    for name in ("1700000000001", "1700000000002"):
        message = await asked(teams, store, id=name, **from_carol())
        await noted_restart().deliver(delivery(message, ANSWER, SECRET))
    there = teams.posts_in(HELP)
    told = [sent for sent in there if f"(https://teams.microsoft.com/l/app/{APP_ID})" in sent.text]
    assert (len(there), len(told)) == (3, 1)
    assert told[0].text.startswith("Carol: ")
    assert "41,000" not in "".join(sent.shown for sent in there)
    place = {"id": f"{GENERAL};messageid=1", "conversationType": "channel"}
    elsewhere = await asked(teams, store, conversation=place, **from_carol())
    await noted_restart().deliver(delivery(elsewhere, ANSWER, SECRET))
    assert len(teams.posts_in(GENERAL)) == 2


async def test_an_address_for_a_name_is_no_link(
    teams: FakeTeams, noted_restart: Restart, store: Store
) -> None:
    named = from_carol()
    named["from"]["name"] = "Carol https://evil.example"
    message = await asked(teams, store, **named)
    await noted_restart().deliver(delivery(message, ANSWER, SECRET))
    assert teams.posts_in(HELP)[-1].text.startswith("Carol `https://evil.example`: I may")


async def test_the_way_to_install_is_the_one_that_is_configured(
    teams: FakeTeams, settings: Settings, cloud: Cloud, store: Store
) -> None:
    shop = settings.model_copy(update={"teams_install_url": "https://acme.example/add"})
    channel = connect(shop, store.notes, cloud=cloud, credentials=CountingCredentials())
    message = await asked(teams, store, **from_carol())
    await channel.deliver(delivery(message, ANSWER, SECRET))
    assert "(https://acme.example/add)" in teams.posts_in(HELP)[-1].text


async def test_who_removed_the_app_is_told_how_to_get_it_back(
    teams: FakeTeams, channel: TeamsChannel, store: Store
) -> None:
    await channel.client.conversations.note(in_person(teams, "hi"))
    teams.conversations[chat_of(ALICE)].has_bot = False
    await channel.deliver(delivery(await asked(teams, store), ANSWER, SECRET))
    assert "/l/app/" in teams.posts_in(HELP)[-1].text
    assert await channel.client.conversations.chat_with(ALICE) is None


async def test_a_withdrawn_question_takes_its_whisper_along(
    teams: FakeTeams, noted_restart: Restart, store: Store
) -> None:
    message = await asked(teams, store)
    ref = await noted_restart().deliver(delivery(message, ANSWER, LONG))
    assert len(whispers(teams)) > 1
    await noted_restart().withdraw(message, [ref])
    assert not teams.messages


async def test_a_note_goes_to_the_askers_chat_and_is_not_live(
    teams: FakeTeams, channel: TeamsChannel, store: Store
) -> None:
    await channel.note(await asked(teams, store), "It has changed, [here](https://x.example).")

    (note,) = whispers(teams)
    assert "It has changed" in note.text
    assert "](https://" not in note.text
    assert not teams.posts_in(HELP)


async def test_a_corrected_answer_of_fewer_messages_leaves_none_of_the_others(
    teams: FakeTeams, channel: TeamsChannel, store: Store
) -> None:
    message = await asked(teams, store)
    ref = await channel.deliver(delivery(message, LONG))
    assert len(teams.posts_in(HELP)) > 1

    await channel.correct(delivery(message, Reply("Gone.", "generic")), ref)

    (left,) = teams.posts_in(HELP)
    assert (left.id, left.text) == (ref.id, "Gone.")


async def test_an_answer_with_more_messages_than_are_known_is_not_edited(
    teams: FakeTeams, channel: TeamsChannel, store: Store
) -> None:
    message = await asked(teams, store)
    ref = await channel.deliver(delivery(message, Reply("Short.", "generic")))

    with pytest.raises(DeliveryRefused):
        await channel.correct(delivery(message, LONG), ref)
    assert [each.text for each in teams.posts_in(HELP)] == ["Short."]
