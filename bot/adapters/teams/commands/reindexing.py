"""Runs that are ordered in words: begun, shown where they were ordered, stopped by a button."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import structlog

from bot.adapters.teams.arriving.dispatch import Dispatch
from bot.adapters.teams.arriving.pressing import Press
from bot.adapters.teams.calling.connector import Connector
from bot.adapters.teams.commands.orderers import OUTSIDERS, Orderers
from bot.adapters.teams.commands.run_card import link_to_run
from bot.adapters.teams.commands.saying import said
from bot.adapters.teams.wire.actions import RUN_CANCEL
from bot.adapters.teams.wire.body import Json, text_at
from bot.adapters.teams.wire.invokes import words_answer
from bot.adapters.teams.wire.reference import reference_of
from bot.chat.actions import ActionRejected
from bot.chat.commands.executor import CommandExecutor
from bot.chat.commands.run_followers import RunFollowers
from bot.chat.commands.types import CommandCaller, Refused, ReindexRequest
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import StoreUnavailable
from bot.domain.types import Message

_ELSEWHERE = (
    "I can't show here how far it is, because I can't write here or because not only colleagues "
    "read it."
)
_WHERE: Mapping[str, str] = {
    "directly": "I've written to you directly.",
    "nowhere": "I can't write to you directly either, until you add me for yourself in Teams.",
}

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindexing:
    """Implements Registers for the button, and begins runs."""

    orders: CommandExecutor
    orderers: Orderers
    followers: RunFollowers
    connector: Connector
    errands: BackgroundTasks

    def register(self, dispatch: Dispatch) -> None:
        dispatch.on_press(RUN_CANCEL, self._cancel)

    async def begin(
        self, order: ReindexRequest, message: Message, by: CommandCaller
    ) -> tuple[Json, ...]:
        """Begin a run; return what is said of it at once."""
        answer = await self.orders.reindex(order, by)
        if isinstance(answer, Refused):
            return said(answer.text, *await self._way_to(answer.run_id))

        await self.followers.begin(
            answer.run_id,
            user=by.person.id,
            channel=message.reply_to,
            elsewhere=partial(self._say_elsewhere, message.reply_to),
        )
        return said(answer.text)

    async def _way_to(self, run_id: str) -> tuple[str, ...]:
        """Return a link to where a run is shown, if others than who ordered it see that."""
        try:
            shown = await self.followers.shown_as(run_id) if run_id else None
        except StoreUnavailable as error:
            log.warning("teams.run_not_found", run=run_id, why=str(error))
            return ()
        url = None if shown is None else link_to_run(shown)
        return () if url is None else (f"[See how far it is]({url})",)

    def _say_elsewhere(self, reply_to: str, where: str) -> None:
        (told,) = said(f"{_ELSEWHERE} {_WHERE[where]}")
        self.errands.run(self.connector.send(reply_to, told), what="told of a run's place")

    async def _cancel(self, press: Press) -> Json:
        by = await self.orderers.of(reference_of(press.body), alone=True)
        if by is None:
            raise ActionRejected(OUTSIDERS)
        answer = await self.orders.stop(text_at(press.data, "run"), by)
        return words_answer(answer.text)
