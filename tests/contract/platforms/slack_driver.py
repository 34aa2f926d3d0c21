"""Slack as the people of a channel see it: its events, buttons, commands and installation."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from mimetypes import guess_type
from pathlib import Path
from typing import Any

from aiohttp import web

from bot.domain.concurrency import BackgroundTasks
from bot.domain.ports import Inbox, Notes
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.platforms import slack
from bot.platforms.slack.payloads.actions import ASK_PERSON, MORE, WHY
from bot.store.database import Store
from tests.contract.platforms.driver import (
    By,
    Client,
    Expert,
    File,
    Hands,
    Missing,
    Platform,
    Question,
    ReadPress,
    Receipt,
    SlowReindex,
    Vote,
)
from tests.contract.platforms.scenario import PAGE_809
from tests.fakes.chat_context import ReadsPages, chat_context_over
from tests.fakes.desk import PAGE
from tests.fakes.http_server import wait_until
from tests.fakes.slack import events
from tests.fakes.slack.blocks import block_text
from tests.fakes.slack.builders import unhurried
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.names import (
    ADMINS,
    ALICE,
    ANNA,
    BOB,
    ELSEWHERE,
    GUEST,
    HELP,
    OTHER_BOT,
    PEOPLE,
    SHARED,
    TEAM,
    TOKEN,
)
from tests.fakes.slack.posts import Post, StoredFile
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visitor import Visitor

_WRITERS: Mapping[By, Mapping[str, str]] = {
    "asker": {"user": ALICE},
    "colleague": {"user": BOB},
    "guest": {"user": GUEST},
    "bot": {"user": OTHER_BOT, "bot_id": "B0BUILD00"},
}


def stored(file: File) -> StoredFile:
    name, content = file
    return StoredFile(name, content, guess_type(name)[0] or "text/plain")


def ts(number: int) -> str:
    """The first message of a thread has the thread's number."""
    return f"1700000000.{number:06d}"


def event(question: Question) -> dict[str, Any]:
    within = {"thread_ts": ts(question.thread)} if question.number != question.thread else {}
    told = {**_WRITERS[question.by], **within}
    if question.private:
        return events.direct(question.text, ts(question.number), **told)
    channel = SHARED if question.beside_outsiders else HELP
    if question.addressed:
        return events.mention(question.text, ts(question.number), **told, channel=channel)
    among = {"channel": channel, "channel_type": "channel"}
    return events.direct(question.text, ts(question.number), **told, **among)


def about(question: Question, subtype: str) -> dict[str, Any]:
    return {
        "type": "message",
        "subtype": subtype,
        "channel": event(question)["channel"],
        "channel_type": "im" if question.private else "channel",
        "ts": "1700000000.800000",
        "event_ts": "1700000000.800000",
        "hidden": True,
    }


_EXPERTS: Mapping[Expert, str] = {"anna": ANNA, "bob": BOB}

Person = Callable[[str], Visitor]
Send = Callable[[Mapping[str, Any]], Awaitable[int]]


class SlackButtons:
    """Implements Buttons."""

    def __init__(
        self,
        workspace: FakeSlack,
        person: Person,
        answer: Callable[[Question], Post],
        background: BackgroundTasks,
    ) -> None:
        self._workspace = workspace
        self._person = person
        self._answer = answer
        self._background = background

    async def why(self, question: Question) -> str:
        await self._person(ALICE).click(self._answer(question), WHY)
        await wait_until(
            lambda: [view for view in self._workspace.open_views if "> " in view.shown]
        )
        return self._workspace.open_views[-1].shown

    async def ask_person(self, question: Question) -> None:
        await self._person(ALICE).click(self._answer(question), ASK_PERSON)

    async def choose(self, question: Question, option: str) -> None:
        await self._person(ALICE).click(self._answer(question), option)

    async def request_button(self, question: Question, label: str) -> ReadPress:
        asked = [post for post in self._workspace.seen_by(ALICE, HELP) if label in post.labels]

        def seen() -> str:
            return "\n".join(post.shown for post in self._workspace.seen_by(ALICE, HELP))

        async def press() -> str:
            await self._person(ALICE).click(asked[-1], label)
            await self._background.finish()
            return seen()

        return press


class SlackCard:
    """Implements Card."""

    def __init__(self, workspace: FakeSlack, person: Person) -> None:
        self._workspace = workspace
        self._person = person

    async def shown(self) -> str:
        return self._card().shown

    async def claim(self, who: Expert) -> None:
        await self._person(_EXPERTS[who]).click(self._card(), "Claim")

    async def reply(self, who: Expert, words: str) -> None:
        expert = self._person(_EXPERTS[who])
        await expert.click(self._card(), "Reply")
        await expert.submit(self._workspace.open_views[-1], {"words": words})

    async def write_below(self, who: Expert, words: str) -> None:
        expert = self._person(_EXPERTS[who])
        await expert.say(PEOPLE, words, thread=self._card().ts)
        await expert.click(self._workspace.whispered(expert.id)[-1], "Send")

    async def write_late(self, who: Expert, words: str, edited: str) -> None:
        expert = self._person(_EXPERTS[who])
        expert.held = []
        await expert.edit(await expert.say(PEOPLE, words, thread=self._card().ts), edited)
        for event in reversed(expert.held):
            assert (await expert.door.event(event)).status == 200
        await expert.click(self._workspace.whispered(expert.id)[-1], "Send")

    async def press(self, who: Expert, label: str) -> None:
        await self._person(_EXPERTS[who]).click(self._card(), label)

    async def alone(self, who: Expert) -> str:
        return self._workspace.open_views[-1].shown

    def _card(self) -> Post:
        return self._workspace.in_channel(PEOPLE)[0]


class SlackOrders:
    """Implements Orders: Alice is an admin, Bob is none."""

    def __init__(self, workspace: FakeSlack, person: Person) -> None:
        self._workspace = workspace
        self._person = person
        self.shelf = SlowReindex()

    async def give(self, order: str, *, admin: bool) -> None:
        await self._person(_orderer(admin=admin)).command(HELP, "/frontdesk", order)

    def read(self, *, admin: bool) -> str:
        seen = self._workspace.seen_by(_orderer(admin=admin), HELP)
        return "\n".join(post.shown for post in seen)


class SlackInstalling:
    """Implements Installing: the bot comes into a channel; the app is removed."""

    def __init__(self, workspace: FakeSlack, person: Person, send: Send) -> None:
        self._workspace = workspace
        self._person = person
        self._send = send

    async def install(self) -> None:
        self._workspace.channels.discard(ELSEWHERE)
        await self._person(ALICE).invites(ELSEWHERE)

    def welcomes(self) -> int:
        return len(self._workspace.answers(ELSEWHERE))

    async def uninstall(self) -> None:
        self._workspace.uninstall()
        await self._send(events.app_uninstalled())

    def calls(self) -> int:
        return sum(not call.startswith("auth.") for call in self._workspace.calls)


class SlackReviewing:
    """Implements Reviewing."""

    reviewer = BOB
    channel = f"slack:{HELP}"

    def __init__(self, workspace: FakeSlack, person: Person) -> None:
        self._workspace = workspace
        self._person = person

    def read(self) -> str:
        posts = self._workspace.in_channel(self._person(BOB).direct)
        return "\n".join(post.shown for post in posts)

    async def press(self, label: str) -> None:
        bob = self._person(BOB)
        await bob.click(self._workspace.in_channel(bob.direct)[-1], label)


def _orderer(*, admin: bool) -> str:
    return ALICE if admin else BOB


_KINDS = {
    "list": re.compile(r"^(?:> )?\d+\. ", re.MULTILINE),
    "code": re.compile(r"^```", re.MULTILINE),
    "quotation": re.compile(r"^> ", re.MULTILINE),
}
"""How lists, code and quotations begin in Slack's Markdown."""

_LIVE = re.compile(r"<[!@#a-z]|\]\((?!https://wiki\.example\.com/)|(?<!`)https?://evil")
_OURS = re.compile(
    r"<https://(?:wiki\.example\.com|acme\.slack\.com)/[^|<>]*\|[^<>]*>|<@(?:U0ALICE00|U0BOB0000)>"
    r"|<!date\^\d+\^\{ago\}\|[^<>|]*>"
)
"""Links, names and times that code wrote, label and all: the only ones that may be live."""

_PRESSED_SECONDS = 1.0
_THUMBS: Mapping[Vote, str] = {"up": "+1", "down": "thumbsdown::skin-tone-4"}

_RECEIPTS: dict[int, Receipt] = {200: "kept", 503: "send it again"}


class OnSlack:
    """Implements Platform."""

    client: Client

    def __init__(self, workspace: FakeSlack, directory: Path, notes: Notes) -> None:
        self._workspace = workspace
        self._notes = notes
        self.settings: Settings = load_settings(
            _env_file=None,
            data_dir=directory,
            slack_bot_token=TOKEN,
            slack_signing_secret=events.SECRET,
            slack_api_url=workspace.url,
            slack_team_id=TEAM,
            slack_escalation_channel=PEOPLE,
            slack_admins=ADMINS,
        )
        self.channel: slack.SlackChannel = self.another_channel()
        self._orders = SlackOrders(workspace, self._person)
        self.hands = Hands(
            buttons=SlackButtons(workspace, self._person, self._answer, self.channel.background),
            card=SlackCard(workspace, self._person),
            orders=self._orders,
            installing=SlackInstalling(workspace, self._person, self._send),
            reviewing=SlackReviewing(workspace, self._person),
        )

    def another_channel(self) -> slack.SlackChannel:
        return slack.connect(self.settings, self._notes, caller=unhurried())

    def mount(self, app: web.Application, inbox: Inbox, store: Store) -> None:
        shelf = self._orders.shelf
        context = chat_context_over(store, inbox, shelf=shelf, readable=ReadsPages(PAGE, PAGE_809))
        slack.mount(app, self.channel, context)

    async def ask(self, question: Question) -> Receipt:
        return _RECEIPTS[await self._send({**event(question), **self._shared(question)})]

    async def edit(self, question: Question, text: str) -> None:
        changed = event(Question(text, question.number, question.thread, question.private))
        edited = {"user": events.ALICE, "ts": "1700000000.900000"}
        await self._send(
            {
                **about(question, "message_changed"),
                "message": {**changed, "type": "message", "edited": edited},
                "previous_message": {**event(question), "type": "message"},
            }
        )

    async def delete(self, question: Question) -> None:
        await self._send(
            {
                **about(question, "message_deleted"),
                "deleted_ts": ts(question.number),
                "previous_message": {**event(question), "type": "message"},
            }
        )

    async def vote(self, question: Question, vote: Vote) -> None:
        await self._person().react(self._answer(question), _THUMBS[vote])

    async def unvote(self, question: Question, vote: Vote) -> None:
        await self._person().unreact(self._answer(question), _THUMBS[vote])

    async def can_vote(self, question: Question) -> bool:
        return any("feedback_buttons" in str(post.payload) for post in self._posts(question))

    async def seen(self, question: Question) -> Sequence[str]:
        return [post.shown for post in self._posts(question) if post.only_for is None]

    async def messages(self, question: Question) -> int:
        return len(await self.seen(question))

    async def kinds(self, question: Question) -> frozenset[str]:
        blocks = [block for post in self._posts(question) for block in post.blocks]
        text = "\n".join(block["text"] for block in blocks if block["type"] == "markdown")
        tables = {"table"} & {block["type"] for block in blocks}
        return frozenset(kind for kind, mark in _KINDS.items() if mark.search(text)) | tables

    async def privately(self, question: Question) -> Sequence[str]:
        """Return what the asker is shown who presses the button for more."""
        visitor = self._person()
        offers = self._whispered(question)
        for offer in offers:
            await visitor.click(offer, MORE)
        with suppress(TimeoutError):
            await wait_until(
                lambda: len(self._whispered(question)) > len(offers), seconds=_PRESSED_SECONDS
            )
        return [post.shown for post in self._whispered(question)]

    def lose_answer(self) -> None:
        self._workspace.fail("chat.postMessage", Fault(status=500, after=True))

    async def marked(self, question: Question) -> str:
        raise Missing

    def _person(self, user: str = ALICE) -> Visitor:
        return Visitor(self._workspace, self.client, user)

    def _shared(self, question: Question) -> Mapping[str, Any]:
        if not question.files:
            return {}
        kept = [self._workspace.keep(stored(file)) for file in question.files]
        told = [file.told(self._workspace.site) for file in kept]
        return {"files": told, "subtype": "file_share"}

    def _answer(self, question: Question) -> Post:
        return [post for post in self._posts(question) if post.by_bot and not post.only_for][-1]

    def _whispered(self, question: Question) -> Sequence[Post]:
        return [post for post in self._posts(question) if post.only_for == events.ALICE]

    async def live(self, question: Question) -> Sequence[str]:
        posts = [*self._posts(question), *self._workspace.in_channel(PEOPLE)]
        # In rich text, which tables are made of, a mention or link is an element of its own.
        shown = [block for post in posts for block in post.blocks if block["type"] != "table"]
        texts = [*map(block_text, shown), *(str(post.payload["text"]) for post in posts)]
        raw = "\n".join(texts)
        return _LIVE.findall(_OURS.sub("", raw))

    async def people(self) -> Sequence[str]:
        return [post.shown for post in self._workspace.in_channel(PEOPLE)]

    def _posts(self, question: Question) -> Sequence[Post]:
        channel = event(question)["channel"]
        return self._workspace.in_thread(channel, ts(question.thread))

    async def _send(self, event: Mapping[str, Any]) -> int:
        shared = event.get("channel") == SHARED
        body = events.envelope(dict(event), is_ext_shared_channel=shared)
        return (await events.send(self.client, body)).status


@asynccontextmanager
async def on_slack(directory: Path, notes: Notes) -> AsyncIterator[Platform]:
    async with FakeSlack().serving() as workspace:
        yield OnSlack(workspace, directory, notes)
