"""Slack as the people of a channel see it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from aiohttp import web

from bot.domain.ports import Inbox, Notes
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.platforms import slack
from bot.platforms.slack.payloads.actions import MORE
from bot.store.database import Store
from tests.bot.adapters.saying import PAGE
from tests.bot.adapters.slack import events, server
from tests.bot.adapters.slack.clock import unhurried
from tests.bot.adapters.slack.visitor import Visitor
from tests.bot.adapters.slack.workspace.names import ADMINS, ALICE, PEOPLE, SHARED
from tests.bot.house import until
from tests.bot.offices import ReadsPages, office_over
from tests.conformance.desks import PAGE_809
from tests.conformance.platforms import Client, Hands, Missing, Platform, Question, Receipt, Vote
from tests.conformance.slack_events import about, event, stored, ts
from tests.conformance.slack_hands import SlackButtons, SlackCard, SlackInstalling, SlackOrders

_LIVE = re.compile(r"<[!@#a-z]|\]\((?!https://wiki\.example\.com/)|(?<!`)https?://evil")
_OURS = re.compile(
    r"<https://(?:wiki\.example\.com|acme\.slack\.com)/[^|<>]*\|[^<>]*>|<@U0ALICE00>"
    r"|<!date\^\d+\^\{ago\}\|[^<>|]*>"
)
"""Links, names and times that code wrote, label and all: the only ones that may be live."""

_PRESSED_SECONDS = 1.0
_THUMBS: Mapping[Vote, str] = {"up": "+1", "down": "thumbsdown::skin-tone-4"}

_RECEIPTS: dict[int, Receipt] = {200: "kept", 503: "send it again"}


class OnSlack:
    """Implements Platform."""

    client: Client

    def __init__(self, workspace: server.FakeSlack, directory: Path, notes: Notes) -> None:
        self._workspace = workspace
        self._notes = notes
        self.settings: Settings = load_settings(
            _env_file=None,
            data_dir=directory,
            slack_bot_token=server.TOKEN,
            slack_signing_secret=events.SECRET,
            slack_api_url=workspace.url,
            slack_team_id=server.TEAM,
            slack_escalation_channel=PEOPLE,
            slack_admins=ADMINS,
        )
        self.channel: slack.SlackChannel = self.another_channel()
        self._orders = SlackOrders(workspace, self._person)
        self.hands = Hands(
            buttons=SlackButtons(workspace, self._person, self._answer),
            card=SlackCard(workspace, self._person),
            orders=self._orders,
            installing=SlackInstalling(workspace, self._person, self._send),
        )

    def another_channel(self) -> slack.SlackChannel:
        return slack.connect(self.settings, self._notes, caller=unhurried())

    def mount(self, app: web.Application, inbox: Inbox, store: Store) -> None:
        shelf = self._orders.shelf
        office = office_over(store, inbox, shelf=shelf, readable=ReadsPages(PAGE, PAGE_809))
        slack.mount(app, self.channel, office)

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

    async def privately(self, question: Question) -> Sequence[str]:
        """Return what the asker is shown who presses the button for more."""
        visitor = self._person()
        offers = self._whispered(question)
        for offer in offers:
            await visitor.click(offer, MORE)
        with suppress(TimeoutError):
            await until(
                lambda: len(self._whispered(question)) > len(offers), seconds=_PRESSED_SECONDS
            )
        return [post.shown for post in self._whispered(question)]

    def lose_answer(self) -> None:
        self._workspace.fail("chat.postMessage", server.Fault(status=500, after=True))

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

    def _answer(self, question: Question) -> server.Post:
        return [post for post in self._posts(question) if post.by_bot and not post.only_for][-1]

    def _whispered(self, question: Question) -> Sequence[server.Post]:
        return [post for post in self._posts(question) if post.only_for == events.ALICE]

    async def live(self, question: Question) -> Sequence[str]:
        posts = [*self._posts(question), *self._workspace.in_channel(PEOPLE)]
        raw = "\n".join(f"{post.raw}\n{post.payload['text']}" for post in posts)
        return _LIVE.findall(_OURS.sub("", raw))

    async def people(self) -> Sequence[str]:
        return [post.shown for post in self._workspace.in_channel(PEOPLE)]

    def _posts(self, question: Question) -> Sequence[server.Post]:
        channel = event(question)["channel"]
        return self._workspace.in_thread(channel, ts(question.thread))

    async def _send(self, event: Mapping[str, Any]) -> int:
        shared = event.get("channel") == SHARED
        body = events.envelope(dict(event), is_ext_shared_channel=shared)
        return (await events.send(self.client, body)).status


@asynccontextmanager
async def on_slack(directory: Path, notes: Notes) -> AsyncIterator[Platform]:
    async with server.FakeSlack().serving() as workspace:
        yield OnSlack(workspace, directory, notes)
