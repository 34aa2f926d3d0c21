"""Handle /reindex: start a run, show its progress in a message, and cancel it by a button."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.chat.actions import ActionRejected
from bot.chat.commands.executor import CommandExecutor
from bot.chat.commands.run_followers import RunFollowers
from bot.chat.commands.run_leases import RunLease
from bot.chat.commands.run_progress import Progress, progress_of, text_bar
from bot.chat.commands.run_status import RunStatus
from bot.chat.commands.types import CommandCaller, Refused, ReindexRequest
from bot.domain.capabilities import Introduces
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import DeliveryRefused, StoreUnavailable
from bot.domain.interactions import PostedRef
from bot.domain.messages import InteractionId, Message, Person, Thread
from bot.domain.text.markdown import split
from bot.platforms.slack.actions.interactivity import Press, PressDispatcher
from bot.platforms.slack.client.api import ApiCaller
from bot.platforms.slack.client.conversations import Conversations, MessageLookup, Permalinks
from bot.platforms.slack.client.errors import NotPermitted
from bot.platforms.slack.client.posting import Editor, Poster
from bot.platforms.slack.commands.slash_commands import (
    COMMAND_SPELLING,
    NOT_FOR_OUTSIDERS,
    REINDEX,
    Command,
    CommandSenders,
    plain_message,
)
from bot.platforms.slack.escalations.notices import mrkdwn_link
from bot.platforms.slack.messages.response_urls import ResponseUrls
from bot.platforms.slack.payloads.actions import REINDEX_CANCEL
from bot.platforms.slack.payloads.metadata import MessageLabel, Place, ts_since
from bot.platforms.slack.payloads.mrkdwn import escaped, escaped_label
from bot.platforms.slack.rendering import (
    SECTION_LIMIT,
    Block,
    MessageForm,
    MessageForms,
    actions,
    button,
    context,
    section,
)

_TEXT_LIMIT = 3_900


def run_message(told: RunStatus, *, user: str, alone: bool) -> MessageForms:
    """Return a run's message; ``user`` ordered the run.

    ``alone``: nobody else reads it. Otherwise no page is named, for not all may know of it.
    """
    shown = progress_of(told, COMMAND_SPELLING, alone=alone)
    head, below = _head(shown), _troubles(shown)
    parts = [each for part in (head, below) if part for each in split(part, SECTION_LIMIT)]
    who = () if alone else (context(f"Ordered by <@{user}>"),)
    text = split("\n".join(filter(None, (head, below))), _TEXT_LIMIT)[0]
    blocks = (*map(section, parts), *who)
    plainer = (MessageForm(text, blocks), MessageForm(text))
    return plainer if told.ended else (MessageForm(text, (*blocks, _cancel(told.run_id))), *plainer)


def _head(shown: Progress) -> str:
    bar = [] if shown.share is None else [text_bar(shown.share)]
    title = escaped_label(shown.title).replace("*", "\u2217")
    return "\n".join([f"*{title}*", *bar, *map(escaped_label, shown.facts)])


def _troubles(shown: Progress) -> str:
    titled = [shown.trouble_title] if shown.trouble_title else []
    troubles = [f"\u2022 {line}" for line in shown.troubles]
    cure = [shown.cure] if shown.cure else []
    return escaped("\n".join([*titled, *troubles, *cure]))


def _cancel(run_id: str) -> Block:
    return actions([button("Cancel", REINDEX_CANCEL, run_id)])


_RUN_PART = "run"


class RunMessages:
    """Posts and edits the messages of runs. Implements bot.chat.commands.run_message.Screen.

    Places are channels, messages their ts. NotPermitted is raised as DeliveryRefused, though
    somebody could fix its cause: a run does not wait for that.
    """

    def __init__(
        self, client: AsyncWebClient, caller: ApiCaller, people: Introduces, *, tenant: str
    ) -> None:
        self._people = people
        self._tenant = tenant
        self._rooms = Conversations(client, caller)
        self._poster = Poster(client, caller)
        self._editor = Editor(client, caller, self._poster)
        self._lookup = MessageLookup(client, caller)

    async def place_of(self, shown: RunLease) -> str:
        """Return the channel of the order, or a direct one if outsiders may read that."""
        if self.is_alone(shown.channel) or not await self._is_ours(shown):
            return await self.direct(shown)
        return shown.channel

    async def direct(self, shown: RunLease) -> str:
        """Return the direct conversation with the user who ordered the run."""
        with _as_refusal():
            return await self._rooms.direct(shown.user)

    def is_alone(self, place: str) -> bool:
        """Return whether a place is a direct conversation."""
        return place.startswith("D")

    async def post(self, shown: RunLease, told: RunStatus) -> str:
        """Post a run's message; return its ts."""
        label = MessageLabel(f"reindex:{shown.run_id}", _run_label_id(shown), _RUN_PART, 1)
        with _as_refusal():
            return await self._poster.post(_place(shown), self._forms(shown, told), label)

    async def find(self, shown: RunLease, besides: str) -> str:
        """Return the ts of a run's message that may have been posted, "" if none is found.

        ``besides`` is the ts of a message to ignore, as it is of no use any more.
        """
        try:
            found = await self._lookup.search(_place(shown), _run_label_id(shown))
        except (NotPermitted, DeliveryRefused):
            return ""
        return next((each.ts for each in found if each.ts != besides), "")

    async def edit(self, shown: RunLease, told: RunStatus) -> None:
        """Update a run's message."""
        with _as_refusal():
            await self._editor.edit(PostedRef(shown.place, shown.posted), self._forms(shown, told))

    def _forms(self, shown: RunLease, told: RunStatus) -> MessageForms:
        return run_message(told, user=shown.user, alone=self.is_alone(shown.place))

    async def _is_ours(self, shown: RunLease) -> bool:
        """Return whether a channel is known to be this workspace's alone."""
        thread = Thread("slack", self._tenant, shown.channel, "")
        asked = Message("", thread, Person(shown.user), "", received_at=datetime.now(UTC))
        try:
            return not (await self._people.introduce(asked)).outsiders
        except (NotPermitted, DeliveryRefused):
            return False


@contextmanager
def _as_refusal() -> Iterator[None]:
    """Raise NotPermitted as DeliveryRefused."""
    try:
        yield
    except NotPermitted as error:
        raise DeliveryRefused(str(error)) from error


def _place(shown: RunLease) -> Place:
    ordered_at = datetime.fromtimestamp(shown.ordered_at, UTC)
    return Place(shown.place, None, since=ts_since(ordered_at))


def _run_label_id(shown: RunLease) -> InteractionId:
    """Return the id by which a run's message is found; no interaction has such an id."""
    return InteractionId(f"reindex:{shown.run_id}")


_ELSEWHERE = (
    "I can't show in this channel how far it is, because I'm not in it or because not only "
    "colleagues read it."
)
_SHOWN_WHERE: Mapping[str, str] = {
    "directly": "I've written to you directly.",
    "nowhere": f"I can't write to you directly either. Ask for it: {REINDEX} status",
}

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexListener:
    """Starts runs by command, and handles their Cancel button.

    Implements `Listener` and `StartsReindex`.
    """

    orders: CommandExecutor
    orderers: CommandSenders
    followers: RunFollowers
    permalinks: Permalinks
    presses: PressDispatcher
    asides: ResponseUrls
    background: BackgroundTasks

    def register(self, bolt: AsyncApp) -> None:
        self.presses.on(bolt, REINDEX_CANCEL, self._cancel)

    async def begin(
        self, order: ReindexRequest, command: Command, by: CommandCaller
    ) -> MessageForm:
        """Start a run; return the immediate reply."""
        answer = await self.orders.reindex(order, by)
        if isinstance(answer, Refused):
            return plain_message(answer.text, *await self._way_to(answer.run_id, by))
        await self.followers.begin(
            answer.run_id,
            user=command.user,
            channel=command.channel,
            elsewhere=partial(self._say_elsewhere, command.response_url),
        )
        return plain_message(answer.text)

    async def _cancel(self, press: Press) -> None:
        by = await self.orderers.of(press.user)
        if by is None:
            raise ActionRejected(NOT_FOR_OUTSIDERS)
        answer = await self.orders.stop(press.value, by)
        self.presses.tell(press, escaped(answer.text))

    async def _way_to(self, run_id: str, by: CommandCaller) -> tuple[str, ...]:
        """Return a link to a run's message, if the caller can open it."""
        try:
            shown = await self.followers.shown_as(run_id) if run_id else None
        except StoreUnavailable as error:
            log.warning("slack.run_not_found", run=run_id, why=str(error))
            return ()
        if shown is None or (shown.place.startswith("D") and shown.user != by.person.id):
            return ()
        url = await self.permalinks.of(shown.place, shown.posted)
        return () if url is None else (mrkdwn_link(url, "See how far it is"),)

    def _say_elsewhere(self, response_url: str, where: str) -> None:
        told = self.asides.tell(response_url, escaped(f"{_ELSEWHERE} {_SHOWN_WHERE[where]}"))
        self.background.run(told, what="told of a run's place")
