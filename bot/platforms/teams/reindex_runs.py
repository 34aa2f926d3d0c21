"""Start reindex runs by command, show their progress in a card, and cancel them by a button.

A run is shown in the thread of the command, or in a personal chat where outsiders read along. Names
in the card are shown as people wrote them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import structlog

from bot.chat.commands.command_texts import Progress, progress_of, text_bar
from bot.chat.commands.executor import CommandExecutor, CommandSenders
from bot.chat.commands.run_followers import RunFollowers
from bot.chat.commands.run_leases import RunLease
from bot.chat.commands.run_message import NotTaken
from bot.chat.commands.run_status import RunStatus
from bot.chat.commands.types import CommandCaller, ReindexRequest
from bot.domain.errors import DeliveryFailed, RateLimited
from bot.domain.interactions import PostedRef
from bot.domain.markdown import clip
from bot.domain.messages import Message, Person, Thread
from bot.domain.ports import Introduces
from bot.domain.texts import join_texts, tr
from bot.platforms.teams.channel import TeamsChannel
from bot.platforms.teams.client.api import TeamsClient
from bot.platforms.teams.dispatch import Dispatch
from bot.platforms.teams.members import COMMAND_SPELLING
from bot.platforms.teams.payloads.actions import CANCEL_RUN, Press
from bot.platforms.teams.payloads.activity import (
    Json,
    channel_in,
    is_private,
    message_link,
    read_reference,
    reference_of,
    text_at,
    thread_root_of,
    user_in,
)
from bot.platforms.teams.rendering.cards import (
    card,
    execute_button,
    text_answer,
    text_block,
    text_messages,
    with_card,
)
from bot.platforms.teams.rendering.text import card_plain, markdown_link

_LONGEST_LINE = 1_000
_LONGEST_NAME = 80


def run_message(status: RunStatus, *, name: str, alone: bool) -> Json:
    """Return the progress message of a run that ``name`` started.

    ``alone``: only the caller reads the message. Otherwise pages are not named, as not everybody
    may know of them.
    """
    progress = progress_of(status, COMMAND_SPELLING, alone=alone)
    body = [*_progress(progress), *_troubles(progress)]
    if name and not alone:
        by = tr("Started by {who}", who=clip(name, _LONGEST_NAME))
        body.append(_text_line(by, isSubtle=True, size="Small"))
    buttons = [] if status.ended else [execute_button(tr("Cancel"), CANCEL_RUN, run=status.run_id)]
    message = {"type": "message", "summary": progress.title}
    return with_card(message, card(body, buttons))


def link_to_run(lease: RunLease) -> str | None:
    """Return a link to a run's message; None if only the caller can see it."""
    there = read_reference(lease.place)
    return message_link(
        PostedRef(channel_in(lease.place), lease.posted),
        tenant=text_at(there, "conversation", "tenantId"),
        root=thread_root_of(there),
    )


def _progress(progress: Progress) -> Iterator[Json]:
    yield _text_line(progress.title, weight="Bolder")
    if progress.share is not None:
        yield _text_line(text_bar(progress.share), fontType="Monospace", spacing="Small")
    for fact in progress.facts:
        yield _text_line(fact, spacing="Small")


def _troubles(progress: Progress) -> Iterator[Json]:
    if progress.trouble_title:
        yield _text_line(progress.trouble_title, color="Warning")
    for trouble in progress.troubles:
        yield _text_line(join_texts(" ", ("\u2022", trouble)), spacing="Small")
    if progress.cure:
        yield _text_line(progress.cure)


def _text_line(text: str, **looks: object) -> Json:
    return text_block(card_plain(clip(text, _LONGEST_LINE)), **looks)


class RunMessages:
    """Posts and edits run messages. Implements bot.chat.commands.run_message.Screen.

    A place is a ``reply_to``. Teams can't be searched for posted messages.
    """

    def __init__(self, client: TeamsClient, people: Introduces, *, tenant: str) -> None:
        self._client = client
        self._people = people
        self._tenant = tenant

    async def has_outsiders(self, lease: RunLease) -> bool:
        """Return whether outsiders read the conversation of the command."""
        thread = Thread("teams", self._tenant, channel_in(lease.channel), "")
        asker, now = Person(lease.user), datetime.now(UTC)
        asked = Message("", thread, asker, "", received_at=now, reply_to=lease.channel)
        return (await self._people.introduce(asked)).outsiders

    async def link(self, lease: RunLease) -> str | None:
        """Return a link to a run's message; None if only the caller can see it."""
        return link_to_run(lease)

    async def direct(self, lease: RunLease) -> str:
        """Return the caller's personal chat."""
        return await self._client.open_chat(lease.user, user_id=user_in(lease.channel))

    def is_alone(self, place: str) -> bool:
        """Return whether a place is a personal chat."""
        return is_private(read_reference(place))

    async def post(self, lease: RunLease, status: RunStatus) -> str:
        """Post a run's message; return its id."""
        with _as_not_taken():
            posted = await self._client.send(lease.place, self._message(lease, status))
        if not posted:
            raise DeliveryFailed("Teams did not say where the run's message is.")
        return posted

    async def find(self, lease: RunLease, besides: str) -> str | None:  # noqa: ARG002 - the port's
        """Return None: Teams can't be searched."""
        return None

    async def edit(self, lease: RunLease, status: RunStatus) -> None:
        """Edit a run's message."""
        with _as_not_taken():
            await self._client.update(lease.place, lease.posted, self._message(lease, status))

    def _message(self, lease: RunLease, status: RunStatus) -> Json:
        name = text_at(read_reference(lease.channel), "user", "name")
        return run_message(status, name=name, alone=self.is_alone(lease.place))


@contextmanager
def _as_not_taken() -> Iterator[None]:
    """Translate RateLimited into NotTaken: Teams certainly did nothing."""
    try:
        yield
    except RateLimited as error:
        raise NotTaken(str(error), retry_after_seconds=error.retry_after_seconds) from error


_SHOWN_ELSEWHERE = tr(
    "I can't show the progress here: either I can't post here, or people outside the company can "
    "read it."
)
_PLACE_WORDS: Mapping[str, str] = {
    "directly": tr("I've sent you a message instead."),
    "nowhere": tr("I can't message you either until you add me for yourself in Teams."),
}

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexListener:
    """Starts runs, and handles the cancel button. Implements `Listener`."""

    channel: TeamsChannel
    executor: CommandExecutor
    senders: CommandSenders
    followers: RunFollowers

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_press(CANCEL_RUN, self._cancel)

    async def order(
        self, request: ReindexRequest, message: Message, by: CommandCaller
    ) -> tuple[Json, ...]:
        """Start a run; return the immediate reply."""
        elsewhere = partial(self._say_elsewhere, message.reply_to)
        text, url = await self.followers.order(request, by, message.reply_to, elsewhere)
        return text_messages(text, *([markdown_link(tr("Show progress"), url)] if url else ()))

    def _say_elsewhere(self, reply_to: str, where: str) -> None:
        (told,) = text_messages(join_texts(" ", (_SHOWN_ELSEWHERE, _PLACE_WORDS[where])))
        self.channel.background.run(
            self.channel.client.send(reply_to, told), what="told of a run's place"
        )

    async def _cancel(self, press: Press) -> Json:
        by = await self.senders.caller(reference_of(press.body))
        answer = await self.executor.stop(text_at(press.data, "run"), by)
        return text_answer(answer.text)
