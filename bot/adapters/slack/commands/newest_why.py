"""Why somebody's newest question got what it got, by command."""

from __future__ import annotations

from bot.adapters.slack.commands.commanding import Command
from bot.adapters.slack.pressed.why import WhyModals
from bot.answering.asker_identity import ReaderLookup
from bot.answering.explanations.explainer import NOTHING_YET, Explanation
from bot.chat.adapters import ChatContext
from bot.chat.commands.types import CommandCaller
from bot.domain.concurrency import BackgroundTasks


class NewestWhy:
    """Implements bot.adapters.slack.commands.commands.Opens."""

    def __init__(
        self,
        *,
        office: ChatContext,
        readers: ReaderLookup,
        modals: WhyModals,
        errands: BackgroundTasks,
    ) -> None:
        self._office = office
        self._readers = readers
        self._modals = modals
        self._errands = errands

    async def open(self, command: Command, by: CommandCaller) -> None:
        """Show it in a modal; what goes wrong is shown there."""
        explaining = self._explained(command, by)
        showing = self._modals.show(command.trigger_id, explaining, unknown=NOTHING_YET)
        self._errands.run(showing, what="why by command")

    async def _explained(self, command: Command, by: CommandCaller) -> Explanation:
        """Explain within what everybody in the thread may read, as the button there does."""
        explaining, tenant = self._office.explaining, self._office.tenant
        newest = await explaining.newest(tenant, "slack", command.channel, by.person.id)
        reader = await self._readers.of_thread(newest.message)
        return await explaining.explain(tenant, newest.id, reader, asker_id=by.person.id)
