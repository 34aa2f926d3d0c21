"""Test that the fake Slack takes and refuses calls, blocks and sockets as Slack does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack import events, names
from tests.fakes.slack.blocks import BLOCK_TYPES, refusal, wrong_in
from tests.fakes.slack.exchange import Json
from tests.fakes.slack.names import APP_TOKEN, BOT_USER, HELP
from tests.fakes.slack.samples import (
    BUTTON,
    FEEDBACK,
    MENU,
    ROW,
    TEXT,
    TRASH,
    button,
    input_block,
    mrkdwn,
    options,
    plain,
    post_blocks,
    refused_call,
    row,
)
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.state import POST_BURST, Rates
from tests.fakes.slack.visitor import Visitor


async def test_the_email_is_told_only_with_its_scope(slack: FakeSlack, api: AsyncWebClient) -> None:
    told = await api.users_info(user=names.ALICE)
    assert told["user"]["profile"]["email"] == "alice@acme.example"
    slack.scopes = ("users:read",)
    told = await api.users_info(user=names.ALICE)
    assert "email" not in told["user"]["profile"]


async def test_strangers_and_guests_are_told_apart(api: AsyncWebClient) -> None:
    stranger = (await api.users_info(user=names.STRANGER))["user"]
    guest = (await api.users_info(user=names.GUEST))["user"]
    assert (stranger["team_id"], stranger["is_stranger"]) == (names.OTHER_TEAM, True)
    assert "email" not in stranger["profile"]
    assert guest["is_restricted"]


@pytest.mark.parametrize(
    ("method", "arguments", "scope"),
    [
        ("users.info", {"user": names.ALICE}, "users:read"),
        ("users.lookupByEmail", {"email": "a@b"}, "users:read.email"),
        ("usergroups.users.list", {"usergroup": names.ADMINS}, "usergroups:read"),
        ("conversations.info", {"channel": HELP}, "channels:read"),
        ("conversations.info", {"channel": names.SECRET_ROOM}, "groups:read"),
        ("conversations.members", {"channel": HELP}, "channels:read"),
        ("conversations.open", {"users": names.ALICE}, "im:write"),
        ("conversations.replies", {"channel": HELP, "ts": "1.1"}, "channels:history"),
        ("chat.postMessage", {"channel": HELP, "text": "x"}, "chat:write"),
        ("reactions.add", {"channel": HELP}, "reactions:write"),
        ("files.info", {"file": "F1"}, "files:read"),
    ],
)
async def test_what_needs_a_scope_is_refused_without_it(
    slack: FakeSlack, api: AsyncWebClient, method: str, arguments: dict[str, str], scope: str
) -> None:
    slack.scopes = tuple(one for one in slack.scopes if one != scope)
    answer = await refused_call(api.api_call(method, json=arguments), "missing_scope")
    assert answer["needed"] == scope


async def test_people_are_found_by_email_and_in_groups(api: AsyncWebClient) -> None:
    found = await api.users_lookupByEmail(email="ALICE@acme.example")
    assert found["user"]["id"] == names.ALICE
    group = await api.usergroups_users_list(usergroup=names.ADMINS)
    assert group["users"] == [names.ALICE]
    await refused_call(api.users_lookupByEmail(email="olga@other.example"), "users_not_found")
    await refused_call(api.usergroups_users_list(usergroup="S0NONE"), "no_such_subteam")
    await refused_call(api.users_info(user="U0NOBODY0"), "user_not_found")


async def test_a_direct_conversation_is_made_once(slack: FakeSlack, api: AsyncWebClient) -> None:
    first = await api.conversations_open(users=names.BOB)
    again = await api.conversations_open(users=names.BOB)
    room = first["channel"]["id"]
    assert again["channel"]["id"] == room
    assert room in slack.channels
    await api.chat_postMessage(channel=room, text="hello")
    await refused_call(api.conversations_open(users=names.OTHER_BOT), "cannot_dm_bot")
    slack.people[names.BOB].deleted = True
    await refused_call(api.conversations_open(users=names.BOB), "user_disabled")


async def test_rooms_tell_who_is_in_them(slack: FakeSlack, api: AsyncWebClient) -> None:
    slack.page_size = 2
    pages = [page["members"] async for page in await api.conversations_members(channel=HELP)]
    assert len(pages) == 3
    assert {one for page in pages for one in page} == slack.rooms[HELP].members
    shared = await api.conversations_info(channel=names.SHARED)
    assert shared["channel"]["is_ext_shared"]


async def test_private_rooms_without_the_bot_are_not_admitted_to(
    slack: FakeSlack, api: AsyncWebClient
) -> None:
    slack.channels.remove(names.SECRET_ROOM)
    for channel, code in [
        (names.ELSEWHERE, "not_in_channel"),
        (names.SECRET_ROOM, "channel_not_found"),
        ("C0NOWHERE", "channel_not_found"),
    ]:
        await refused_call(api.chat_postMessage(channel=channel, text="x"), code)
    await refused_call(api.conversations_info(channel=names.SECRET_ROOM), "channel_not_found")


async def test_the_old_sets_are_the_rooms(slack: FakeSlack) -> None:
    slack.channels |= {"C0NEW0000"}
    assert BOT_USER in slack.rooms["C0NEW0000"].members
    slack.channels = {HELP}
    assert list(slack.channels) == [HELP]
    slack.archived.add(HELP)
    assert slack.rooms[HELP].is_archived


async def test_a_reaction_is_given_once_and_taken_once(
    slack: FakeSlack, api: AsyncWebClient
) -> None:
    at = {"channel": HELP, "timestamp": (await post_blocks(api, slack)).ts}
    await api.reactions_add(name="eyes", **at)
    await refused_call(api.reactions_add(name="eyes", **at), "already_reacted")
    assert slack.posts[0].reactions == {"eyes": [BOT_USER]}
    await api.reactions_remove(name="eyes", **at)
    await refused_call(api.reactions_remove(name="eyes", **at), "no_reaction")
    await refused_call(api.reactions_add(name=":eyes:", **at), "invalid_name")
    nowhere = {"channel": HELP, "timestamp": "1800000000.999999"}
    await refused_call(api.reactions_add(name="eyes", **nowhere), "message_not_found")


async def test_a_message_that_only_an_event_told_of_can_be_reacted_to(
    slack: FakeSlack, api: AsyncWebClient
) -> None:
    at = {"channel": HELP, "timestamp": "1700000000.000100"}
    await api.reactions_add(name="eyes", **at)
    await refused_call(api.reactions_add(name="eyes", **at), "already_reacted")
    assert not slack.posts
    slack.gone.add("1700000000.000100")
    await refused_call(api.reactions_remove(name="eyes", **at), "message_not_found")


async def test_a_channel_takes_a_post_a_second_after_a_burst(
    slack: FakeSlack, api: AsyncWebClient
) -> None:
    slack.strict_rates, clock = True, [100.0]
    slack.now = lambda: clock[0]
    for _ in range(3):
        await post_blocks(api, slack)
    answer = await refused_call(api.chat_postMessage(channel=HELP, text="x"), "ratelimited")
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "1")
    await api.chat_postMessage(channel=names.PEOPLE, text="x")
    clock[0] += 1.0
    await post_blocks(api, slack)
    assert (slack.refused_for_rate, len(slack.posts)) == (1, 5)


@pytest.mark.parametrize(
    ("method", "calls"),
    [("chat.update", 50), ("reactions.add", 50), ("conversations.replies", 50)],
)
async def test_methods_have_their_tier(
    slack: FakeSlack, api: AsyncWebClient, method: str, calls: int
) -> None:
    slack.strict_rates, slack.now = True, lambda: 0.0
    for _ in range(calls):
        await refused_call(api.api_call(method), "invalid_arguments")
    answer = await refused_call(api.api_call(method), "ratelimited")
    assert answer.headers["Retry-After"] == "2"


@pytest.mark.parametrize("code", ["account_inactive", "token_revoked"])
async def test_a_removed_app_gets_nothing(slack: FakeSlack, api: AsyncWebClient, code: str) -> None:
    slack.uninstall(code)
    await refused_call(api.auth_test(), code)
    await refused_call(api.chat_postMessage(channel=HELP, text="x"), code)
    assert not slack.posts


def test_the_events_of_it_are_those_of_slack() -> None:
    assert events.app_uninstalled() == {"type": "app_uninstalled"}
    assert events.tokens_revoked()["tokens"] == {"oauth": [], "bot": [BOT_USER]}


TAKEN: list[Json] = [
    {"type": "markdown", "text": "**hi**"},
    {"type": "section", "text": mrkdwn("x" * 3000), "accessory": BUTTON},
    {"type": "section", "fields": [mrkdwn("x" * 2000), *[mrkdwn("x")] * 9]},
    {"type": "section", "text": plain("x"), "accessory": {**MENU, "initial_option": options()[1]}},
    {"type": "context", "elements": [mrkdwn("x")] * 10},
    row(*[button(action_id=f"a{n}") for n in range(25)]),
    row(button(url="https://x.example", style="danger")),
    row(MENU),
    {"type": "context_actions", "elements": [FEEDBACK, TRASH]},
    input_block(TEXT),
    input_block(MENU, optional=True, hint=plain("any")),
    input_block({"type": "multi_static_select", "options": options(100), "max_selected_items": 3}),
    input_block({"type": "checkboxes", "options": options(10), "initial_options": options(1)}),
    input_block({"type": "radio_buttons", "options": options(10)}),
    input_block({"type": "conversations_select", "filter": {"include": ["public"]}}),
    input_block({"type": "number_input", "is_decimal_allowed": False, "min_value": "1"}),
    {"type": "divider"},
    {"type": "header", "text": plain("x" * 150)},
]


@pytest.mark.parametrize("block", TAKEN, ids=lambda block: str(block["type"]))
async def test_every_block_that_the_bot_uses_is_taken(
    slack: FakeSlack, api: AsyncWebClient, block: Json
) -> None:
    assert (await post_blocks(api, slack, {**block, "block_id": "b" * 255})).blocks


REFUSED: list[Json] = [
    {"type": "image", "image_url": "https://x", "alt_text": "x"},
    {"type": "markdown", "text": ""},
    {"type": "markdown", "text": "x" * 12_001},
    {"type": "section"},
    {"type": "section", "text": "x"},
    {"type": "section", "text": mrkdwn("")},
    {"type": "section", "text": mrkdwn("x" * 3001)},
    {"type": "section", "fields": [mrkdwn("x")] * 11},
    {"type": "section", "fields": [mrkdwn("x" * 2001)]},
    {"type": "section", "text": mrkdwn("x"), "accessory": FEEDBACK},
    {"type": "section", "text": mrkdwn("x"), "colour": "red"},
    {"type": "context", "elements": []},
    {"type": "context", "elements": [mrkdwn("x")] * 11},
    row(),
    row(*[button(action_id=f"a{n}") for n in range(26)]),
    row(BUTTON, BUTTON),
    row(button(text=mrkdwn("x"))),
    row(button(text=plain("x" * 76))),
    row(button(value="x" * 2001)),
    row(button(action_id="x" * 256)),
    row(button(style="green")),
    row(BUTTON, block_id="x" * 256),
    row(FEEDBACK),
    row({**MENU, "options": []}),
    row({**MENU, "options": options(101)}),
    row({**MENU, "options": [*options(1), *options(1)]}),
    row({**MENU, "initial_option": options(3)[2]}),
    row({**MENU, "option_groups": [{"label": plain("x"), "options": options()}]}),
    row({**MENU, "options": [{"text": plain("x" * 76), "value": "x"}]}),
    row({**MENU, "options": [{"text": plain("x"), "value": "x" * 151}]}),
    row({**MENU, "placeholder": mrkdwn("x")}),
    {"type": "context_actions", "elements": [BUTTON]},
    {"type": "context_actions", "elements": [{**FEEDBACK, "positive_button": plain("x")}]},
    input_block(BUTTON),
    input_block({"type": "checkboxes", "options": options(11)}),
    input_block({"type": "radio_buttons", "options": options(11)}),
    input_block({"type": "number_input"}),
    input_block({**TEXT, "max_length": 3001}),
    {"type": "input", "label": mrkdwn("x"), "element": TEXT},
    {"type": "header", "text": plain("x" * 151)},
    {"type": "header", "text": mrkdwn("x")},
    {"type": "divider", "text": plain("x")},
]


@pytest.mark.parametrize("block", REFUSED, ids=lambda block: str(block)[:70])
async def test_what_slack_would_not_show_is_refused_with_a_reason(
    slack: FakeSlack, api: AsyncWebClient, block: Json
) -> None:
    # As the bot's own calls go, without the SDK's checks before them.
    call = api.api_call("chat.postMessage", json={"channel": HELP, "text": "x", "blocks": [block]})
    answer = await refused_call(call, "invalid_blocks")
    assert answer["response_metadata"]["messages"][0].startswith("[ERROR] blocks/0: ")
    assert not slack.posts


def test_a_message_has_its_limits_as_a_whole() -> None:
    text = {"type": "markdown", "text": "x" * 6_000}
    assert refusal({"blocks": [{"type": "divider"}] * 50}, BLOCK_TYPES) == ""
    assert refusal({"blocks": [{"type": "divider"}] * 51}, BLOCK_TYPES) == "invalid_blocks"
    assert refusal({"blocks": [text, text]}, BLOCK_TYPES) == ""
    more = [text, text, {"type": "markdown", "text": "x"}]
    assert refusal({"blocks": more}, BLOCK_TYPES) == "msg_blocks_too_long"
    assert refusal({"text": ""}, BLOCK_TYPES) == "no_text"
    assert refusal({"text": "x" * 40_001}, BLOCK_TYPES) == "msg_too_long"


def test_ids_are_unique_where_slack_needs_them_to_be() -> None:
    twice = [{**ROW, "block_id": "b"}, {**ROW, "block_id": "b"}]
    assert "not unique" in wrong_in(twice, BLOCK_TYPES)
    assert wrong_in([ROW, ROW], BLOCK_TYPES) == ""


def test_views_take_more_blocks_but_not_those_of_messages() -> None:
    assert wrong_in([{"type": "divider"}] * 100, BLOCK_TYPES, view=True) == ""
    assert wrong_in([{"type": "divider"}] * 101, BLOCK_TYPES, view=True)
    assert wrong_in([{"type": "markdown", "text": "x"}], BLOCK_TYPES, view=True)
    assert wrong_in([{"type": "context_actions", "elements": [TRASH]}], BLOCK_TYPES, view=True)


async def test_a_type_that_a_workspace_does_not_know_is_refused(
    slack: FakeSlack, api: AsyncWebClient
) -> None:
    slack.block_types = frozenset({"section"})
    await refused_call(api.chat_postMessage(channel=HELP, text="x", blocks=[ROW]), "invalid_blocks")


async def test_what_a_person_reads_are_texts_and_labels(
    slack: FakeSlack, api: AsyncWebClient
) -> None:
    section = {"type": "section", "text": mrkdwn("a &lt; b"), "accessory": MENU}
    post = await post_blocks(
        api, slack, section, ROW, {"type": "context_actions", "elements": [FEEDBACK]}
    )
    shown = ["a < b", "Choice 0", "Choice 1", "Ask a person", "Good", "Bad"]
    assert post.shown.splitlines() == shown
    assert post.labels == shown[1:]


PAUSES = st.lists(st.floats(min_value=0.0, max_value=3.0), min_size=1, max_size=60)


@given(pauses=PAUSES)
def test_no_channel_takes_more_than_a_burst_and_a_post_a_second(pauses: list[float]) -> None:
    clock = [0.0]
    rates = Rates(lambda: clock[0])
    taken: list[float] = []
    for pause in pauses:
        clock[0] += pause
        if rates.wait("chat.postMessage", {"channel": "C1"}) == 0:
            taken.append(clock[0])
    for first, begin in enumerate(taken):
        for count, end in enumerate(taken[first:], start=1):
            assert count <= POST_BURST + (end - begin) + 1e-6


@given(pauses=PAUSES)
def test_who_waits_as_long_as_told_is_taken(pauses: list[float]) -> None:
    clock = [0.0]
    rates = Rates(lambda: clock[0])
    for pause in pauses:
        clock[0] += pause
        wait = rates.wait("chat.postMessage", {"channel": "C1"})
        if wait:
            clock[0] += wait
            assert rates.wait("chat.postMessage", {"channel": "C1"}) == 0


@dataclass
class Listening:
    """What came over the socket; ``silent`` envelopes are not acknowledged."""

    silent: int = 0
    payload: Json | None = None
    came: list[SocketModeRequest] = field(default_factory=list)

    async def take(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        self.came.append(request)
        if len(self.came) > self.silent:
            answer = SocketModeResponse(request.envelope_id, self.payload)
            await client.send_socket_mode_response(answer)


@pytest.fixture
def listening() -> Listening:
    return Listening()


@pytest.fixture
async def linked(slack: FakeSlack, listening: Listening) -> AsyncIterator[SocketModeClient]:
    web = AsyncWebClient(base_url=slack.url)
    client = SocketModeClient(app_token=APP_TOKEN, web_client=web, ping_interval=0.2)
    client.socket_mode_request_listeners.append(listening.take)
    await client.connect()  # type: ignore[no-untyped-call]
    await slack.sockets.linked()
    yield client
    await client.close()  # type: ignore[no-untyped-call]


@pytest.fixture
def ann(slack: FakeSlack, linked: SocketModeClient) -> Visitor:
    return Visitor(slack, slack.sockets)


async def test_events_commands_and_clicks_come_over_the_socket(
    slack: FakeSlack, api: AsyncWebClient, ann: Visitor, listening: Listening
) -> None:
    await ann.say(HELP, "vpn?", mention=True)
    listening.payload = {"text": "Queued"}
    answer = await ann.command(HELP, "/frontdesk", "help")
    await ann.click(await post_blocks(api, slack, ROW), "ask")
    kinds = [request.type for request in listening.came]
    assert kinds == ["events_api", "events_api", "slash_commands", "interactive"]
    assert (answer.status, answer.body) == (200, {"text": "Queued"})
    assert slack.seen_by(ann.id, HELP)[1].shown == "Queued"
    assert len(slack.sockets.acks) == 4


async def test_what_is_not_acknowledged_comes_again(
    slack: FakeSlack, ann: Visitor, listening: Listening
) -> None:
    slack.sockets.ack_seconds, listening.silent = 0.1, 1
    await ann.say(ann.direct, "vpn?")
    assert [(one.retry_attempt, one.retry_reason) for one in listening.came] == [
        (0, ""),
        (1, "timeout"),
    ]
    assert ann.answers[-1].status == 200


async def test_nobody_who_answers_is_told_after_the_last_try(
    slack: FakeSlack, ann: Visitor, listening: Listening
) -> None:
    slack.sockets.ack_seconds, listening.silent = 0.02, 99
    await ann.say(ann.direct, "vpn?")
    assert (len(listening.came), ann.answers[-1].status) == (4, 0)


@pytest.mark.parametrize("abruptly", [False, True])
async def test_a_client_comes_back_after_a_link_ended(
    slack: FakeSlack, ann: Visitor, listening: Listening, *, abruptly: bool
) -> None:
    if abruptly:
        slack.sockets.drop()
    else:
        await slack.sockets.disconnect()
    await slack.sockets.linked(opened=2)
    await ann.say(ann.direct, "still there?")
    assert len(listening.came) >= 1
    assert ann.answers[-1].status == 200


async def test_a_link_needs_a_ticket_that_is_good_once(slack: FakeSlack) -> None:
    ticket = slack.tickets.socket()
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(f"{slack.site}/link?ticket={ticket}") as link:
            assert (await link.receive_json())["type"] == "hello"
        for address in (f"{slack.site}/link", f"{slack.site}/link?ticket={ticket}"):
            async with session.get(address) as answer:
                assert answer.status == 403
