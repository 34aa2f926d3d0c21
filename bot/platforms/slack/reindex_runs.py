"""Handle /reindex: start a run, show its progress in a message, and cancel it by a button."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import structlog
from slack_bolt.app.async_app import AsyncApp

from bot.chat.commands.command_texts import progress_of
from bot.chat.commands.executor import CommandExecutor, CommandSenders
from bot.chat.commands.run_followers import RunFollowers
from bot.chat.commands.run_leases import RunLease
from bot.chat.commands.run_status import RunStatus
from bot.chat.commands.types import CommandCaller, ReindexRequest
from bot.domain.errors import DeliveryRefused
from bot.domain.interactions import PostedRef
from bot.domain.markdown import split
from bot.domain.messages import InteractionId, Message, Person, Thread
from bot.domain.ports import Introduces
from bot.domain.texts import join_texts, tr
from bot.platforms.slack.actions.interactivity import Press, PressDispatcher
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.client.errors import NotPermitted
from bot.platforms.slack.payloads.actions import REINDEX_CANCEL
from bot.platforms.slack.payloads.markup import bold, escaped, escaped_label
from bot.platforms.slack.payloads.metadata import MessageLabel, Place, ts_since
from bot.platforms.slack.rendering import (
    SECTION_LIMIT,
    MessageForm,
    MessageForms,
    actions,
    button,
    context,
    mrkdwn_link,
    section,
)
from bot.platforms.slack.slash_commands import (
    COMMAND_SPELLING,
    REINDEX,
    Command,
    plain_message,
)

_TEXT_LIMIT = 3_900


def run_message(status: RunStatus, *, user: str, alone: bool) -> MessageForms:
    """Return a run's message; ``user`` ordered the run.

    ``alone``: nobody else reads it. Otherwise no page is named, for not all may know of it.
    """
    progress = progress_of(status, COMMAND_SPELLING, alone=alone)
    head = join_texts("\n", [bold(progress.title), *map(escaped_label, progress.head_lines())])
    below = escaped(join_texts("\n", progress.trouble_lines("\u2022")))
    parts = [each for part in (head, below) if part for each in split(part, SECTION_LIMIT)]
    who = () if alone else (context(tr("Started by {who}", who=f"<@{user}>")),)
    text = split(join_texts("\n", filter(None, (head, below))), _TEXT_LIMIT)[0]
    blocks = (*map(section, parts), *who)
    plainer = (MessageForm(text, blocks), MessageForm(text))
    cancel = actions([button(tr("Cancel"), REINDEX_CANCEL, status.run_id)])
    return plainer if status.ended else (MessageForm(text, (*blocks, cancel)), *plainer)


_RUN_PART = "run"


class RunMessages:
    """Posts and edits the messages of runs. Implements bot.chat.commands.run_message.Screen.

    Places are channels, messages their ts. NotPermitted is raised as DeliveryRefused, though
    somebody could fix its cause: a run does not wait for that.
    """

    def __init__(self, client: SlackClient, people: Introduces, *, tenant: str) -> None:
        self._client = client
        self._people = people
        self._tenant = tenant

    async def has_outsiders(self, lease: RunLease) -> bool:
        """Return whether people of other organisations may read the channel of the order."""
        thread = Thread("slack", self._tenant, lease.channel, "")
        message = Message("", thread, Person(lease.user), "", received_at=datetime.now(UTC))
        with _as_refusal():
            return (await self._people.introduce(message)).outsiders

    async def link(self, lease: RunLease) -> str | None:
        """Return the permalink of a run's message."""
        return await self._client.chat_get_permalink(lease.place, lease.posted)

    async def direct(self, lease: RunLease) -> str:
        """Return the direct conversation with the user who ordered the run."""
        with _as_refusal():
            return await self._client.conversations_open(lease.user)

    def is_alone(self, place: str) -> bool:
        """Return whether a place is a direct conversation."""
        return place.startswith("D")

    async def post(self, lease: RunLease, status: RunStatus) -> str:
        """Post a run's message; return its ts."""
        label = MessageLabel(f"reindex:{lease.run_id}", _run_label_id(lease), _RUN_PART, 1)
        with _as_refusal():
            return await self._client.chat_post_message(
                _place(lease), self._forms(lease, status), label, kind="run"
            )

    async def find(self, lease: RunLease, besides: str) -> str:
        """Return the ts of a run's message that may have been posted, "" if none is found.

        ``besides`` is the ts of a message to ignore, as it is of no use any more.
        """
        try:
            found = await self._client.find_messages(_place(lease), _run_label_id(lease))
        except (NotPermitted, DeliveryRefused):
            return ""
        return next((each.ts for each in found if each.ts != besides), "")

    async def edit(self, lease: RunLease, status: RunStatus) -> None:
        """Update a run's message."""
        with _as_refusal():
            await self._client.chat_update(
                PostedRef(lease.place, lease.posted), self._forms(lease, status), kind="run"
            )

    def _forms(self, lease: RunLease, status: RunStatus) -> MessageForms:
        return run_message(status, user=lease.user, alone=self.is_alone(lease.place))


@contextmanager
def _as_refusal() -> Iterator[None]:
    """Raise NotPermitted as DeliveryRefused."""
    try:
        yield
    except NotPermitted as error:
        raise DeliveryRefused(str(error)) from error


def _place(lease: RunLease) -> Place:
    ordered_at = datetime.fromtimestamp(lease.ordered_at, UTC)
    return Place(lease.place, None, since=ts_since(ordered_at))


def _run_label_id(lease: RunLease) -> InteractionId:
    """Return the id by which a run's message is found; no interaction has such an id."""
    return InteractionId(f"reindex:{lease.run_id}")


_ELSEWHERE = tr(
    "I can't show the progress in this channel because I'm not in it or because not only "
    "colleagues can read it."
)
_SHOWN_WHERE: Mapping[str, str] = {
    "directly": tr("I've sent you a direct message."),
    "nowhere": tr(
        "I can't send you a direct message either. To see it: {command}",
        command=f"{REINDEX} status",
    ),
}

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexListener:
    """Starts runs by command, and handles their Cancel button.

    Implements `Listener`.
    """

    channel: SlackChannel
    executor: CommandExecutor
    senders: CommandSenders
    followers: RunFollowers
    presses: PressDispatcher

    def register(self, bolt: AsyncApp) -> None:
        self.presses.on(bolt, REINDEX_CANCEL, self._cancel)

    async def order(
        self, request: ReindexRequest, command: Command, by: CommandCaller
    ) -> MessageForm:
        """Start a run; return the immediate reply."""
        elsewhere = partial(self._say_elsewhere, command.response_url)
        text, url = await self.followers.order(request, by, command.channel, elsewhere)
        return plain_message(text, *([mrkdwn_link(url, tr("Show progress"))] if url else ()))

    async def _cancel(self, press: Press) -> None:
        answer = await self.executor.stop(press.value, await self.senders.caller(press.user))
        self.presses.tell(press, escaped(answer.text))

    def _say_elsewhere(self, response_url: str, where: str) -> None:
        forms = (MessageForm(escaped(join_texts(" ", (_ELSEWHERE, _SHOWN_WHERE[where])))),)
        telling = self.channel.client.respond(response_url, forms)
        self.channel.background.run(telling, what="told of a run's place")
