"""Runs by command: begun, shown where they were ordered, and stopped by a button."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import structlog
from slack_bolt.app.async_app import AsyncApp

from bot.adapters.slack.cases.reminders import link
from bot.adapters.slack.commands.commanding import REINDEX, Command
from bot.adapters.slack.commands.orderers import OUTSIDERS, Orderers
from bot.adapters.slack.commands.saying import said
from bot.adapters.slack.pressed.pressing import Press, Presses
from bot.adapters.slack.showing.asides import Asides
from bot.adapters.slack.showing.permalinks import Permalinks
from bot.adapters.slack.showing.render import Form
from bot.adapters.slack.wire.actions import REINDEX_CANCEL
from bot.adapters.slack.wire.text import escaped
from bot.chat.actions import ActionRejected
from bot.chat.commands.executor import CommandExecutor
from bot.chat.commands.run_followers import RunFollowers
from bot.chat.commands.types import CommandCaller, Refused, ReindexRequest
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import StoreUnavailable

_ELSEWHERE = (
    "I can't show in this channel how far it is, because I'm not in it or because not only "
    "colleagues read it."
)
_WHERE: Mapping[str, str] = {
    "directly": "I've written to you directly.",
    "nowhere": f"I can't write to you directly either. Ask for it: {REINDEX} status",
}

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindexing:
    """Implements Registers for the button, and bot.adapters.slack.commands.commands.Reindexes."""

    orders: CommandExecutor
    orderers: Orderers
    followers: RunFollowers
    permalinks: Permalinks
    presses: Presses
    asides: Asides
    errands: BackgroundTasks

    def register(self, bolt: AsyncApp) -> None:
        self.presses.on(bolt, REINDEX_CANCEL, self._cancel)

    async def begin(self, order: ReindexRequest, command: Command, by: CommandCaller) -> Form:
        """Begin a run; return what is said of it at once."""
        answer = await self.orders.reindex(order, by)
        if isinstance(answer, Refused):
            return said(answer.text, *await self._way_to(answer.run_id, by))
        await self.followers.begin(
            answer.run_id,
            user=command.user,
            channel=command.channel,
            elsewhere=partial(self._say_elsewhere, command.response_url),
        )
        return said(answer.text)

    async def _cancel(self, press: Press) -> None:
        by = await self.orderers.of(press.user)
        if by is None:
            raise ActionRejected(OUTSIDERS)
        answer = await self.orders.stop(press.value, by)
        self.presses.tell(press, escaped(answer.text))

    async def _way_to(self, run_id: str, by: CommandCaller) -> tuple[str, ...]:
        """Return a link to where a run is shown, if whoever asks can open it."""
        try:
            shown = await self.followers.shown_as(run_id) if run_id else None
        except StoreUnavailable as error:
            log.warning("slack.run_not_found", run=run_id, why=str(error))
            return ()
        if shown is None or (shown.place.startswith("D") and shown.user != by.person.id):
            return ()
        url = await self.permalinks.of(shown.place, shown.posted)
        return () if url is None else (link(url, "See how far it is"),)

    def _say_elsewhere(self, response_url: str, where: str) -> None:
        told = self.asides.tell(response_url, escaped(f"{_ELSEWHERE} {_WHERE[where]}"))
        self.errands.run(told, what="told of a run's place")
