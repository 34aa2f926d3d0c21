"""Slack's Home tab: a person's cases, what they may ask, how fresh it is, and channel settings.

It is drawn when somebody opens it, and again when a case of theirs changes, at most once a minute
a person. Who opened it is remembered in this process alone: after a restart, or on another server,
it is drawn anew when it is opened.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from slack_bolt.app.async_app import AsyncApp

from bot.chat.actions import ActionRejected
from bot.chat.commands.command_texts import space_lines
from bot.chat.commands.executor import CommandExecutor, CommandSenders
from bot.chat.commands.overview import (
    CHANNELS_TITLE,
    NO_CASES,
    Overview,
    status_line,
    waiting_text,
)
from bot.domain.concurrency import BackgroundTasks
from bot.domain.texts import join_texts, tr
from bot.escalations.own_cases import CaseLine
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.payloads.events import id_at
from bot.platforms.slack.payloads.markup import bold, escaped
from bot.platforms.slack.rendering import Block, context, mrkdwn_link, section
from rag.types import BoundedDict

REDRAWN_SECONDS = 60.0
"""The least time between two drawings of one person's tab."""

_REMEMBERED = 2_000
_MOST_BLOCKS = 100
"""Slack's limit of a Home tab."""

_MOST_CHANNELS = 25
_CHANNEL = re.compile(r"^slack:([A-Z0-9]+)$")
_HOW_TO_CHANGE = tr(
    "{command} in a channel shows and changes its settings.", command="`/frontdesk settings`"
)


@dataclass(slots=True)
class _Drawn:
    """When a person's tab was drawn last (monotonic), and whether it is due to be drawn again."""

    at: float
    due: bool = False


class HomeTab:
    """Draws the Home tab. Implements `Listener`."""

    def __init__(
        self,
        client: SlackClient,
        executor: CommandExecutor,
        senders: CommandSenders,
        background: BackgroundTasks,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._executor = executor
        self._senders = senders
        self._background = background
        self._clock = clock
        self._drawn = BoundedDict[str, _Drawn](_REMEMBERED)
        self._users = BoundedDict[str, str](_REMEMBERED)

    def register(self, bolt: AsyncApp) -> None:
        bolt.event("app_home_opened", matchers=[_is_home])(self._opened)

    async def _opened(self, event: dict[str, object]) -> None:
        user = id_at(event, "user")
        if user:
            self.open(user)

    def open(self, user: str) -> None:
        """Draw the tab of somebody who opened it, and from then on when their cases change."""
        self._draw_soon(user)

    def changed(self, *people: str) -> None:
        """Draw the tabs of people whose cases changed, if they ever opened them.

        ``people`` are ids of askers (the platform's own) or of experts.
        """
        for each in people:
            user = self._users.get(each, each)
            if user in self._drawn:
                self._draw_soon(user)

    def _draw_soon(self, user: str) -> None:
        """Draw a tab now, or a minute after it was drawn last."""
        drawn = self._drawn.get(user)
        if drawn is None:
            drawn = self._drawn[user] = _Drawn(self._clock() - REDRAWN_SECONDS)
        if drawn.due:
            return
        drawn.due = True
        wait = drawn.at + REDRAWN_SECONDS - self._clock()
        if wait <= 0:
            self._draw_now(user, drawn)
        else:
            asyncio.get_running_loop().call_later(wait, self._draw_now, user, drawn)

    def _draw_now(self, user: str, drawn: _Drawn) -> None:
        drawn.due, drawn.at = False, self._clock()
        self._background.run(self._draw(user), what="home tab")

    async def _draw(self, user: str) -> None:
        try:
            by = await self._senders.caller(user)
        except ActionRejected as error:
            await self._client.views_publish(user, _view([section(escaped(str(error)))]))
            return
        self._users[by.expert_id] = user
        overview = await self._executor.overview(by)
        blocks = list(home_blocks(overview, datetime.now(UTC)))
        await self._client.views_publish(user, _view(blocks[:_MOST_BLOCKS]))


async def _is_home(event: dict[str, object]) -> bool:
    return event.get("tab") == "home"


def _view(blocks: list[Block]) -> dict[str, object]:
    return {"type": "home", "blocks": blocks}


def home_blocks(overview: Overview, now: datetime) -> Iterator[Block]:
    """Yield the blocks of an overview."""
    if not overview.lists:
        yield section(escaped(NO_CASES))
    for title, cases in overview.lists:
        yield _header(title)
        for each in cases:
            yield section(_case_text(each, now))
    if overview.cases.waiting is not None:
        yield context(escaped(waiting_text(overview.cases.waiting)))
    yield _header(tr("What you can ask"))
    yield section(escaped(join_texts("\n", space_lines(overview.spaces, now))))
    if overview.channels:
        yield _header(CHANNELS_TITLE)
        yield section(join_texts("\n", [_channels_text(overview.channels), _HOW_TO_CHANGE]))


def _channels_text(channels: Sequence[str]) -> str:
    """Return channels, Slack's own as links with their names; so many as a section holds."""
    named = [_CHANNEL.sub(r"<#\1>", escaped(each)) for each in channels[:_MOST_CHANNELS]]
    more = len(channels) - len(named)
    listed = ", ".join(named)
    return tr("{names} and {more} more", names=listed, more=more) if more else listed


def _header(title: str) -> Block:
    return section(bold(title))


def _case_text(case: CaseLine, now: datetime) -> str:
    status = join_texts("", ("_", escaped(status_line(case, now)), "_"))
    if case.link:
        status = join_texts(" · ", (status, mrkdwn_link(case.link, tr("Show question"))))
    return join_texts("\n", (escaped(case.question), status))
