"""Test what an asker in Teams is told later."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.cases import Actor
from bot.domain.errors import DeliveryFailed, DeliveryRefused
from bot.domain.interactions import PostedRef
from bot.escalations.ports import AsksPeople, LinksBack, ShowsCases, Tells
from bot.learning.digest import SendsDigests
from bot.platforms.teams.channel import TeamsChannel
from bot.platforms.teams.notices import with_links
from tests.fakes.desk import delivery
from tests.fakes.digests import sending
from tests.fakes.escalations import ANNA, notice_of
from tests.fakes.teams.activities import CHANNEL, CHAT, in_channel, question
from tests.fakes.teams.exchange import Fault
from tests.fakes.teams.names import GUESTS
from tests.fakes.teams.server import FakeTeams
from tests.unit.bot.platforms.teams.conftest import Restart

LONG = "\n\n".join(f"Step {number}: " + "word " * 240 for number in range(1, 120))


@pytest.mark.parametrize("port", [Tells, AsksPeople, ShowsCases, LinksBack])
def test_teams_does_all_that_a_platform_may_do_about_cases(
    channel: TeamsChannel, port: type
) -> None:
    assert isinstance(channel, port)


async def test_a_persons_reply_is_in_the_thread_under_their_name(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    asked = question(teams)
    ref = await channel.tell(asked, notice_of(asked))
    (sent,) = teams.messages
    assert sent.conversation == f"{CHANNEL};messageid=1700000000000"
    assert sent.reply_to == "1700000000001"
    assert ref == PostedRef(CHANNEL, sent.id)
    assert sent.activity["text"] == "**Anna Lopez** replied:\n\nTake the blue socket."
    assert not sent.activity.get("entities"), "it is no AI's"


async def test_an_address_for_a_name_is_no_link(teams: FakeTeams, channel: TeamsChannel) -> None:
    asked = question(teams)
    notice = notice_of(asked)
    evil = Actor(ANNA.id, "Anna https://evil.example", ANNA.role)
    await channel.tell(asked, replace(notice, actor=evil))
    (sent,) = teams.messages
    assert sent.activity["text"].startswith("**Anna `https://evil.example`** replied:")


async def test_in_a_chat_which_has_no_threads_the_question_is_recalled(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    asked = replace(question(teams, private=True), text="vpn? <at>All</at> [x](https://evil)")
    await channel.tell(asked, notice_of(asked))
    (sent,) = teams.messages
    assert sent.conversation == CHAT
    assert sent.activity["text"].startswith(
        "> vpn? &lt;at>All&lt;/at> x\n\n**Anna Lopez** replied:"
    )


async def test_markup_mentions_and_dressed_up_links_of_theirs_are_dead(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    asked = question(teams)
    words = "<at>Everyone</at> [click](https://evil.example) ![p](https://evil.example/?d)"
    actor = replace(ANNA, name="**Bob** [x](https://evil.example)")
    await channel.tell(asked, notice_of(asked, text=words, actor=actor))
    text = teams.messages[0].activity["text"]
    assert "](" not in text
    assert "&lt;at>Everyone&lt;/at> click p" in text


async def test_a_plain_https_address_can_be_opened(teams: FakeTeams, channel: TeamsChannel) -> None:
    asked = question(teams)
    words = "See https://wiki.example.com/a_b?c=1&d=2, or http://old.example."
    await channel.tell(asked, notice_of(asked, text=words))
    assert (
        "](https://wiki.example.com/a_b?c=1&d=2), or `http://old.example`."
        in (teams.messages[0].activity["text"])
    )


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("~~~\nhttps://e.example\n~~~", "```\nhttps://e.example\n```"),
        ("````\n```\nhttps://e.example\n````", "```\n\u02cb\u02cb\u02cb\nhttps://e.example\n```"),
        ("`` a ` https://e.example ``", "`a \u02cb https://e.example`"),
    ],
)
def test_their_code_is_fenced_as_every_client_knows_it(words: str, shown: str) -> None:
    assert with_links(words) == shown


@given(st.text(alphabet="<>[]()!`*_~ \nhttps:/.exampleat", max_size=80))
def test_whatever_is_written_only_plain_addresses_are_live(words: str) -> None:
    outside = re.sub(r"(`+)[^\n]*?\1", "code", with_links(words))
    assert not re.search(r"<|\]\((?!https://)", outside)


async def test_a_long_reply_goes_on_and_a_repetition_adds_what_is_missing(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    asked = question(teams)
    notice = notice_of(asked, text=LONG)
    teams.fail(None, Fault(status=502))
    with pytest.raises(DeliveryFailed):
        await channel.tell(asked, notice)
    again = replace(notice, attempts=1)
    assert await channel.find_told(asked, again) is None
    ref = await channel.tell(asked, again)
    texts = [sent.activity["text"] for sent in teams.messages]
    count = len(texts)
    assert count > 2
    assert [text.split("\n")[0] for text in texts] == [
        f"_({number} of {count})_" for number in range(1, count + 1)
    ]
    assert ref.id == teams.messages[0].id
    assert len(re.findall(r"Step \d+:", "".join(texts))) == 119


async def test_after_a_restart_it_is_told_again_for_teams_can_not_be_asked(
    teams: FakeTeams, restart: Restart
) -> None:
    asked = question(teams)
    notice = notice_of(asked)
    teams.fail(Fault(status=502, after=True))
    with pytest.raises(DeliveryFailed):
        await restart().tell(asked, notice)
    await restart().tell(asked, replace(notice, attempts=1))
    assert len(teams.messages) == 2


async def test_a_withdrawn_question_takes_along_what_this_process_told(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    asked = question(teams)
    other = await channel.tell(
        question(teams, private=True), notice_of(question(teams, private=True))
    )
    ref = await channel.deliver(delivery(asked))
    await channel.tell(asked, notice_of(asked, 2))
    await channel.tell(asked, notice_of(asked, 3, text=LONG))
    await channel.withdraw(asked, [ref])
    assert [sent.id for sent in teams.messages] == [other.id]


async def test_where_the_bot_is_blocked_it_is_refused(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    asked = question(teams)
    teams.fail(Fault(status=403, code="ConversationBlockedByUser"))
    with pytest.raises(DeliveryRefused):
        await channel.tell(asked, notice_of(asked))


async def test_a_question_that_does_not_say_where_to_answer_is_refused(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    asked = replace(question(teams), reply_to="")
    with pytest.raises(DeliveryRefused, match="where to answer"):
        await channel.tell(asked, notice_of(asked))


@pytest.fixture
async def known(teams: FakeTeams, noted_restart: Restart) -> TeamsChannel:
    """Return a channel that knows where Teams is reached."""
    channel = noted_restart()
    await channel.client.conversations.note(in_channel(teams, "<at>Help</at> hello"))
    return channel


async def test_a_digest_is_posted_with_no_live_words(teams: FakeTeams, known: TeamsChannel) -> None:
    assert isinstance(known, SendsDigests)
    await known.send_digest(CHANNEL, sending())
    await known.send_digest(CHANNEL, sending(again=True))

    first, second = teams.messages
    text = first.activity["text"]
    assert first.conversation.startswith(CHANNEL)
    assert "**What the wiki lacks:**" in text
    assert "[https://desk.example.com/board](https://desk.example.com/board)" in text
    assert "<!channel>" not in text
    assert "twice" not in text
    assert "twice" in second.activity["text"]


async def test_no_digest_goes_where_outsiders_read_or_nobody_does(
    teams: FakeTeams, known: TeamsChannel
) -> None:
    for nowhere in (GUESTS, "11111111-2222-3333-4444-555555555555"):
        with pytest.raises(DeliveryRefused):
            await known.send_digest(nowhere, sending())
    assert teams.messages == []
