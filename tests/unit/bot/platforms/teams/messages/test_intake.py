"""Test how messages, files, edits and deletions in Teams become questions, and change them."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import aiohttp
import pytest

from bot.answering.admission import PRACTISING
from bot.answering.attachments import AttachmentReader
from bot.chat.adapters import ChatContext
from bot.domain.errors import DeliveryFailed
from bot.domain.interactions import Interaction, Outcome
from bot.domain.messages import Attachment, InteractionId, Policy
from bot.domain.ports import Fetches
from bot.domain.settings import Settings
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client.registration import Cloud
from bot.platforms.teams.messages.intake import Files
from bot.platforms.teams.payloads.messages import INLINE_PREFIX
from bot.platforms.teams.rendering.text import teams_plain
from bot.store.database import Store
from tests.fakes.bot_ports import PdfOfText
from tests.fakes.desk import ANSWER, TRACE, FixedDesk, KeepingInbox
from tests.fakes.durable_inbox import wait_for_interaction, wait_until_posted
from tests.fakes.http_server import wait_until
from tests.fakes.teams.activities import BotTestClient
from tests.fakes.teams.builders import Bot, bot_at, interaction_id_of
from tests.fakes.teams.credentials import CountingCredentials
from tests.fakes.teams.file_host import ELSEWHERE, HOST, FileFault, FileHost
from tests.fakes.teams.names import BOB, BOT, BOT_NAME, GROUP, GUEST, GUESTS, HELP
from tests.fakes.teams.posts import Written
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import Visitor

pytestmark = pytest.mark.attack


@pytest.fixture
def settings(settings: Settings, teams: FakeTeams) -> Settings:
    return settings.model_copy(update={"teams_service_url": f"{teams.url}/"})


@pytest.fixture
def channel(
    settings: Settings, cloud: Cloud, credentials: CountingCredentials, store: Store
) -> TeamsChannel:
    return connect(settings, store.notes, cloud=cloud, credentials=credentials)


@pytest.fixture
def alice(teams: FakeTeams, client: BotTestClient) -> Visitor:
    return Visitor(teams, client)


async def allow(context: ChatContext, policy: Policy, channel: str = HELP) -> None:
    await context.policies.set("acme", f"teams:{channel}", policy, actor="cli:test")


def all_well(visitor: Visitor) -> bool:
    return {answer.status for answer in visitor.answers} <= {200}


def from_another_bot(post: Written) -> dict[str, object]:
    """Return an activity as if another bot had written it."""
    return {**post.activity, "from": {"id": "28:other", "name": "Build"}}


@pytest.mark.parametrize(
    ("where", "text"), [(HELP, "vpn & <wifi>?"), (GROUP, "vpn & <wifi>?"), (HELP, "")]
)
async def test_a_mention_is_a_question(
    alice: Visitor, inbox: KeepingInbox, where: str, text: str
) -> None:
    post = await alice.say(where, text)

    message = inbox.only
    assert (message.text, message.overheard, message.private) == (text, False, False)
    assert (message.id, message.thread.channel) == (post.id, where)
    assert message.thread.id == (post.id if where == HELP else GROUP)
    assert message.author.id == alice.id
    assert all_well(alice)


async def test_a_reply_stands_in_the_thread_that_it_replies_in(
    alice: Visitor, inbox: KeepingInbox
) -> None:
    root = await alice.say(HELP, "vpn?")
    reply = await alice.say(root, "on a Mac")

    asked = {message.id: message for message in inbox.messages.values()}
    assert asked[reply.id].thread == asked[root.id].thread
    there = json.loads(asked[reply.id].reply_to)["conversation"]["id"]
    assert there == f"{HELP};messageid={root.id}"


async def test_a_personal_chat_needs_no_mention(alice: Visitor, inbox: KeepingInbox) -> None:
    await alice.say(alice.chat, "vpn?")

    assert inbox.only.private
    assert not inbox.only.overheard


async def test_guests_may_ask(teams: FakeTeams, client: BotTestClient, inbox: KeepingInbox) -> None:
    await Visitor(teams, client, GUEST).say(GUESTS, "vpn?")

    assert inbox.only.author.id == GUEST


async def test_talk_that_the_bot_may_read_is_left_alone(
    teams: FakeTeams, alice: Visitor, inbox: KeepingInbox
) -> None:
    teams.hears_all = True
    for where in (HELP, GROUP):
        await alice.say(where, "how do I print?", mention=False)

    assert not inbox.messages
    assert len(alice.answers) == 2
    assert all_well(alice)


@pytest.mark.parametrize("where", [HELP, GROUP])
async def test_a_question_is_overheard_where_the_conversation_allows_it(
    teams: FakeTeams, alice: Visitor, inbox: KeepingInbox, context: ChatContext, where: str
) -> None:
    teams.hears_all = True
    await allow(context, Policy(answers="questions"), where)
    await alice.say(where, "nice weather", mention=False)
    post = await alice.say(where, "how do I print?", mention=False)

    assert (inbox.only.id, inbox.only.overheard) == (post.id, True)


async def test_a_follow_up_is_overheard_only_in_a_thread_of_the_bots(
    teams: FakeTeams, alice: Visitor, inbox: KeepingInbox, context: ChatContext
) -> None:
    teams.hears_all = True
    await allow(context, Policy(follow_ups=True))
    root = await alice.say(HELP, "morning", mention=False)
    await alice.say(root, "and in colour?", mention=False)

    assert not inbox.messages


@pytest.mark.parametrize("allowed", [False, True])
async def test_another_bot_is_heard_where_allowed_and_only_if_it_mentions_us(
    teams: FakeTeams, alice: Visitor, inbox: KeepingInbox, context: ChatContext, *, allowed: bool
) -> None:
    teams.hears_all = True
    await allow(context, Policy(answers="questions", other_bots=allowed))
    alice.held = []
    talk = await alice.say(HELP, "why is the build red?", mention=False)
    asked = await alice.say(HELP, "vpn?")
    await alice.deliver(from_another_bot(talk), from_another_bot(asked))

    assert [message.text for message in inbox.messages.values()] == ["vpn?"] * allowed
    assert all_well(alice)


async def test_our_own_words_ask_nothing(alice: Visitor, inbox: KeepingInbox) -> None:
    alice.held = []
    post = await alice.say(HELP, "vpn?")
    await alice.deliver({**post.activity, "from": {"id": BOT, "name": BOT_NAME}})

    assert not inbox.messages


async def test_what_a_button_of_an_old_card_sends_goes_nowhere(
    alice: Visitor, inbox: KeepingInbox
) -> None:
    alice.held = []
    post = await alice.say(alice.chat, "")
    pressed = {key: value for key, value in post.activity.items() if key != "text"}
    await alice.deliver({**pressed, "value": {"name": "gone"}, "replyToId": "reply-1"})

    assert not inbox.messages
    assert all_well(alice)


async def test_a_quoted_message_is_what_is_asked_about(alice: Visitor, inbox: KeepingInbox) -> None:
    alice.held = []
    post = await alice.say(HELP, "what is this?")
    html = (
        '<blockquote itemtype="http://schema.skype.com/Reply">'
        '<strong itemprop="mri" itemid="8:orgid:bob">Bob</strong><p>Error 809</p></blockquote>'
        "<p>what is this?</p>"
    )
    await alice.deliver(
        {**post.activity, "attachments": [{"contentType": "text/html", "content": html}]}
    )

    assert inbox.only.text == "what is this?"
    assert [each.name for each in inbox.only.attachments] == ["a message by Bob"]


CHAT = "chat"
Json = dict[str, Any]


@pytest.fixture
async def bot(teams: FakeTeams, channel: TeamsChannel, store: Store) -> AsyncIterator[Bot]:
    async with bot_at(teams, channel, store) as bot:
        yield bot


@pytest.fixture
def thought(monkeypatch: pytest.MonkeyPatch) -> Iterator[asyncio.Event]:
    """Let the desk think until a test says so, or ends."""
    done = asyncio.Event()

    async def think(says: FixedDesk, *_: object) -> Outcome:
        await done.wait()
        return says.outcome

    monkeypatch.setattr(FixedDesk, "handle", think)
    yield done
    done.set()


def place(visitor: Visitor, where: str) -> str:
    return visitor.chat if where == CHAT else where


def texts(inbox: KeepingInbox) -> list[str]:
    return [message.text for message in inbox.messages.values()]


async def kept(bot: Bot, where: str, name: str) -> Interaction:
    interaction = await bot.store.interactions.get(interaction_id_of(where, name))
    assert interaction is not None
    return interaction


@pytest.mark.parametrize(
    ("where", "mention"), [(HELP, None), (HELP, False), (GROUP, None), (CHAT, None)]
)
async def test_an_edited_question_is_amended_though_it_mentions_nobody_now(
    alice: Visitor, inbox: KeepingInbox, where: str, *, mention: bool | None
) -> None:
    post = await alice.say(place(alice, where), "vpn?")
    await alice.edit(post, "wifi?", mention=mention)

    assert texts(inbox) == ["wifi?"]


async def test_a_mention_that_an_edit_adds_is_a_question(
    alice: Visitor, inbox: KeepingInbox
) -> None:
    post = await alice.say(HELP, "vpn?", mention=False)
    assert not inbox.messages
    await alice.edit(post, "vpn?", mention=True)

    assert (inbox.only.id, inbox.only.text, inbox.only.overheard) == (post.id, "vpn?", False)


async def test_an_edit_of_what_nobody_asked_is_left(
    teams: FakeTeams, alice: Visitor, inbox: KeepingInbox, context: ChatContext
) -> None:
    teams.hears_all = True
    await allow(context, Policy(answers="questions"))
    post = await alice.say(HELP, "morning", mention=False)
    await alice.edit(post, "how do I print?")

    assert not inbox.messages
    assert all_well(alice)


async def test_only_the_authors_own_edit_counts(bot: Bot, thought: asyncio.Event) -> None:
    alice, bob = bot.person(), bot.person(BOB)
    alice.held = []
    post = await alice.say(HELP, "vpn?")
    await alice.deliver(post.activity)
    await alice.edit(post, "password of the CEO?")
    forged = {**alice.held[-1], "from": bob.human.account()}
    await bob.deliver(forged)

    assert (await kept(bot, HELP, post.id)).message.text == "vpn?"
    await alice.deliver(alice.held[-1])
    assert (await kept(bot, HELP, post.id)).message.text == "password of the CEO?"
    thought.set()


async def test_an_order_that_is_changed_is_no_question(alice: Visitor, inbox: KeepingInbox) -> None:
    alice.held = []
    post = await alice.say(alice.chat, "statsu")
    await alice.edit(post, "status")
    await alice.deliver(alice.held[-1])

    assert not inbox.messages


@pytest.mark.parametrize("where", [HELP, GROUP, CHAT])
async def test_a_deleted_question_is_withdrawn(
    alice: Visitor, inbox: KeepingInbox, where: str
) -> None:
    post = await alice.say(place(alice, where), "vpn?")
    await alice.delete(post)

    assert not inbox.messages
    assert len(inbox.cancelled) == 1
    assert all_well(alice)


async def test_what_was_pressed_below_a_question_goes_with_it(
    alice: Visitor, inbox: KeepingInbox, store: Store
) -> None:
    post = await alice.say(HELP, "vpn?")
    asked = inbox.only
    for name in (f"{post.id}:person", f"{post.id}:option:person", "1600000000003"):
        message = replace(asked, id=name)
        await store.work.open(message, "owner")
        await inbox.accept(message)
    await alice.delete(post)

    assert [message.id for message in inbox.messages.values()] == ["1600000000003"]


@pytest.mark.parametrize("where", [HELP, CHAT])
async def test_in_whatever_order_they_come_the_newest_words_stand_and_what_is_gone_is_gone(
    alice: Visitor, inbox: KeepingInbox, where: str
) -> None:
    order = random.Random(6)  # noqa: S311 - an order, no secret
    for _ in range(12):
        alice.held = []
        edited = await alice.say(place(alice, where), "vpn?")
        await alice.edit(edited, "wifi?")
        gone = await alice.say(place(alice, where), "secret?")
        await alice.edit(gone, "secret!")
        await alice.delete(gone)
        for activity in order.sample(alice.held * 2, 2 * len(alice.held)):
            assert [answer.status for answer in await alice.deliver(activity)] == [200]

        now = {message.id: message.text for message in inbox.messages.values()}
        assert now.get(edited.id) == "wifi?"
        assert gone.id not in now


@pytest.mark.parametrize("at_once", [False, True])
async def test_the_last_of_several_edits_stands_in_whatever_order_they_come(
    bot: Bot, thought: asyncio.Event, *, at_once: bool
) -> None:
    alice, order = bot.person(), random.Random(6)  # noqa: S311 - an order, no secret
    for _ in range(5):
        alice.held = []
        post = await alice.say(HELP, "vpn?")
        for words in ("wifi?", "printer?"):
            await alice.edit(post, words)
        for activities in together(order.sample(alice.held * 2, 6), at_once=at_once):
            await alice.deliver(*activities)
        assert (await kept(bot, HELP, post.id)).message.text == "printer?"
    thought.set()


async def test_talk_that_is_deleted_is_not_recorded(
    teams: FakeTeams, alice: Visitor, inbox: KeepingInbox
) -> None:
    teams.hears_all = True
    post = await alice.say(HELP, "morning", mention=False)
    await alice.delete(post)

    assert (inbox.accepted, inbox.cancelled) == (0, [])
    assert all_well(alice)


@pytest.mark.parametrize("where", [HELP, CHAT])
async def test_a_restored_question_is_asked_once_more(bot: Bot, where: str) -> None:
    alice = bot.person()
    where = place(alice, where)
    post = await alice.say(where, "vpn?")
    await wait_until_posted(bot.store, interaction_id_of(where, post.id))
    await alice.delete(post)
    await gone(bot, interaction_id_of(where, post.id))
    await alice.undelete(post)
    await alice.deliver(alice.sent[-1], *alice.sent[:2])
    again = await restored(bot, where, post.id)

    assert (await wait_until_posted(bot.store, again.id)).message.text == "vpn?"
    assert (await kept(bot, where, post.id)).status == "cancelled"


async def test_a_restored_question_may_be_edited_and_deleted_again(bot: Bot) -> None:
    alice = bot.person()
    post = await alice.say(HELP, "vpn?")
    for _ in range(2):
        await alice.delete(post)
        await alice.undelete(post)
    alice.held = []
    await alice.edit(post, "wifi?")
    await alice.delete(post)
    again = await restored(bot, HELP, post.id)
    await alice.deliver(alice.held[0])
    await wait_until_posted(bot.store, again.id)
    await alice.deliver(alice.held[1])
    await gone(bot, again.id)


async def test_a_deletion_that_comes_after_its_own_restoration_is_left(
    alice: Visitor, inbox: KeepingInbox
) -> None:
    post = await alice.say(HELP, "vpn?")
    alice.held = []
    await alice.delete(post)
    await alice.undelete(post)
    deleted, undeleted = alice.held
    await alice.deliver(undeleted)
    await alice.deliver(deleted)

    assert texts(inbox) == ["vpn?"]


async def test_an_overheard_question_that_was_left_alone_can_be_asked_and_changed_then(
    teams: FakeTeams, client: BotTestClient, store: Store, inbox: KeepingInbox, context: ChatContext
) -> None:
    """What is asked anew has an id of its own; an edit after that is an edit of it."""
    alice = Visitor(teams, client)
    teams.hears_all = True
    await allow(context, Policy(answers="questions"))
    post = await alice.say(HELP, "how do I print?", mention=False)
    silent = await store.work.open(inbox.only, "owner")
    await store.work.close(silent, Outcome(ANSWER, TRACE, silent=True), last=True)
    await alice.edit(post, "how do I print?", mention=True)
    await alice.edit(post, "how do I print in colour?")

    assert texts(inbox) == ["how do I print?", "how do I print in colour?"]


def together(activities: list[Json], *, at_once: bool) -> list[list[Json]]:
    return [activities] if at_once else [[each] for each in activities]


async def gone(bot: Bot, interaction_id: InteractionId) -> None:
    """Wait until nothing is left of a question."""
    await wait_for_interaction(bot.store, interaction_id, lambda each: each.status == "cancelled")


async def restored(bot: Bot, where: str, name: str) -> Interaction:
    """Return the question as it is asked since it was restored."""
    first = await kept(bot, where, name)
    there = await bot.store.interactions.in_thread(first.message.thread, 20)
    return [each for each in there if each.message.id.startswith(f"{name}:restored:")][-1]


CONTENT = b"error 809\n" * 20_000


@pytest.fixture
def files(file_host: FileHost) -> Files:
    return Files(file_host.connector)


def shared(file_host: FileHost, content: bytes = CONTENT, *, host: str = HOST) -> Attachment:
    told = file_host.share("vpn.log", content, host=host)
    return Attachment("vpn.log", "", 0, told["content"]["downloadUrl"])


async def test_a_file_is_fetched_by_its_address_alone(files: Files, file_host: FileHost) -> None:
    assert await files.fetch(shared(file_host), most=len(CONTENT)) == CONTENT

    (request,) = file_host.requests
    assert request.host == HOST
    assert not {"Authorization", "Cookie"} & set(request.headers)


def test_the_channel_hands_files_out(channel: TeamsChannel) -> None:
    assert isinstance(channel, Fetches)


@pytest.mark.parametrize("fault", [None, FileFault(unannounced=True)])
async def test_a_file_above_the_cap_is_not_taken(
    files: Files, file_host: FileHost, fault: FileFault | None
) -> None:
    file_host.fail(fault)
    with pytest.raises(DeliveryFailed, match="larger than 100 bytes"):
        await files.fetch(shared(file_host), most=100)


@pytest.mark.parametrize(
    "fault", [FileFault(kept=10), FileFault(status=500), FileFault(status=403)]
)
async def test_half_a_file_is_none(files: Files, file_host: FileHost, fault: FileFault) -> None:
    file_host.fail(fault, fault)
    with pytest.raises(DeliveryFailed):
        await files.fetch(shared(file_host), most=10_000_000)


async def test_a_file_that_does_not_come_is_given_up(
    file_host: FileHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    soon = aiohttp.ClientTimeout(total=0.2)
    monkeypatch.setattr("bot.platforms.teams.messages.intake._TIMEOUT", soon)
    file_host.fail(FileFault(seconds=30.0))
    with pytest.raises(DeliveryFailed, match="TimeoutError"):
        await Files(file_host.connector).fetch(shared(file_host), most=10_000_000)


async def test_what_was_packed_is_kept_as_it_is(files: Files, file_host: FileHost) -> None:
    packed = gzip.compress(CONTENT)
    assert await files.fetch(shared(file_host, packed), most=len(packed)) == packed
    assert file_host.requests[0].headers["Accept-Encoding"] == "identity"


async def test_a_redirect_is_followed_among_hosts_of_files_only(
    files: Files, file_host: FileHost
) -> None:
    asked, other = shared(file_host), shared(file_host, b"moved")
    file_host.fail(FileFault(moved_to=other.place.replace(f"https://{HOST}", "")))
    assert await files.fetch(asked, most=100) == b"moved"

    for place in (asked.place.replace(HOST, ELSEWHERE), f"http://{HOST}/x", "https://[", ""):
        file_host.requests.clear()
        file_host.fail(*[FileFault(moved_to=place or asked.place)] * 9)
        with pytest.raises(DeliveryFailed):
            await files.fetch(asked, most=100)
        file_host.faults.clear()
        assert {request.host for request in file_host.requests} == {HOST}
        assert len(file_host.requests) <= 4


@pytest.mark.parametrize(
    "place",
    [
        f"https://{ELSEWHERE}/x",
        f"https://{HOST}.evil.example/x",
        "https://evilsharepoint.com/x",
        "https://sharepoint.com/x",
        f"https://{HOST}:8443/x",
        f"https://a@{HOST}/x",
        f"https://:p@{HOST}/x",
        f"http://{HOST}/x",
        f"ftp://{HOST}/x",
        f"https://{ELSEWHERE}#.sharepoint.com",
        f"https://{ELSEWHERE}\\.sharepoint.com/x",
        "https://[acme.sharepoint.com/x",
        "https://127.0.0.1/x",
        "file:///etc/passwd",
        "data:text/html,x",
        "",
    ],
)
async def test_nothing_is_asked_of_any_other_place(
    files: Files, file_host: FileHost, place: str
) -> None:
    with pytest.raises(DeliveryFailed) as refused:
        await files.fetch(Attachment("x", "", 0, place), most=10)

    assert file_host.requests == []
    assert not place or place not in str(refused.value)


@pytest.mark.parametrize("host", ["x.sharepoint.us", "x.sharepoint-mil.us", "x.sharepoint.cn"])
async def test_every_cloud_has_its_host(file_host: FileHost, host: str) -> None:
    """The host here has no certificate for these: they get as far as that."""
    file = Attachment("x", "", 0, f"https://{host}/x")
    with pytest.raises(DeliveryFailed, match="Certificate"):
        await Files(file_host.connector).fetch(file, most=10)


async def test_what_is_quoted_is_read_without_asking_anybody(
    files: Files, file_host: FileHost
) -> None:
    quote = Attachment("a message by Bob", "text/plain", 12, f"{INLINE_PREFIX}Error%20809%21")

    assert await files.fetch(quote, most=10) == b"Error 809!"
    assert file_host.requests == []
    with pytest.raises(DeliveryFailed, match="larger"):
        await files.fetch(quote, most=9)


async def test_what_comes_with_a_question_is_read_and_the_rest_is_said(
    alice: Visitor, inbox: KeepingInbox, files: Files, file_host: FileHost
) -> None:
    elsewhere = {"contentType": "reference", "id": "r1", "name": "plan.txt"}
    picture = {"contentType": "image/png", "contentUrl": "https://smba.example/1"}
    log = file_host.share("vpn.log", b"Error 809")
    await alice.say(alice.chat, "what is this?", files=[log, elsewhere, picture])

    read = await AttachmentReader({"teams": files}, PdfOfText().text).read(inbox.only)

    assert [(each.name, each.text) for each in read.attached] == [("vpn.log", "Error 809")]
    assert read.remarks == (
        "I did not read plan.txt: it was not handed out to me.",
        "I did not read a picture: I read text, logs and PDF only.",
    )


async def test_who_mentions_a_bot_that_practises_is_told_so_once_in_their_chat(
    teams: FakeTeams, alice: Visitor, inbox: KeepingInbox, context: ChatContext
) -> None:
    await allow(context, Policy(answers="shadow"))
    await alice.say(HELP, "vpn?")
    await wait_until(lambda: teams.posts_in(alice.chat))
    await alice.say(HELP, "wifi?")

    assert [each.shadow for each in inbox.messages.values()] == [True, True]
    assert teams.posts_in(HELP) == []
    assert [post.text for post in teams.posts_in(alice.chat)] == [teams_plain(PRACTISING)]
