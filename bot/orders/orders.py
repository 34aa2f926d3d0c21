"""Orders carried out: who may, and what is answered; the same for all platforms."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar, assert_never

import structlog

from bot.documents.documents import SeenBy, Space
from bot.errors import DeliveryFailed, StoreUnavailable
from bot.orders.channel_settings import (
    ChannelSettings,
    Filled,
    Wrong,
    changes,
    form_of,
    read_form,
)
from bot.orders.helping import help_text
from bot.orders.permission import may_order, refusal
from bot.orders.reindexing import Reindexing
from bot.orders.standing import status_text
from bot.orders.told import RunTold
from bot.orders.types import (
    Asked,
    Done,
    Help,
    Orderer,
    Refused,
    ReindexCancel,
    ReindexOrder,
    ReindexStatus,
    Started,
    Status,
)
from bot.orders.watching import Watch
from bot.ports import Directory, KeepsPolicies
from bot.startup import Part
from bot.types import Policy
from rag.types import EVERYONE, Principal

_log = structlog.get_logger(__name__)

_AWAY = "I can't do that right now, for what I keep can't be reached. Please try again in a minute."
_UNKNOWN = "I can't find out right now whether you may do this. Please try again in a minute."
Answer = TypeVar("Answer")


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """Carries out orders; nothing here raises, what can't be done is ``Refused`` in words.

    Attributes:
        tenant: The company that is served.
        reindexing: Begins, tells and stops runs.
        watch: Follows a run to its end.
        policies: What single channels allow.
        directory: What a colleague may read.
        check_parts: The state of every part.
        served: Spaces that may be answered from at all; None is all.
        models: What a channel can be answered by beside the ``usual_model``; None: there is none.
    """

    tenant: str
    reindexing: Reindexing
    watch: Watch
    policies: KeepsPolicies
    directory: Directory
    check_parts: Callable[[], Awaitable[Sequence[Part]]]
    served: frozenset[str] | None = None
    models: tuple[str, ...] = ()
    usual_model: str | None = None
    now: Callable[[], datetime] = _now

    async def help(self, by: Orderer) -> Done:
        """Tell what one can say here."""
        return Done(help_text(by.spelling, admin=await self._refusal(by) is None))

    async def answer(self, order: Asked, by: Orderer) -> Done | Refused:
        """Tell what is asked, or do it and tell so."""
        match order:
            case Help():
                return await self.help(by)
            case Status():
                return await self.status(by)
            case ReindexStatus():
                return await self.reindex_status(by)
            case ReindexCancel():
                return await self.cancel(order, by)
            case _:
                assert_never(order)

    async def status(self, by: Orderer) -> Done | Refused:
        """Tell how Frontdesk is, within what all who read that may know.

        An admin sees every part where nobody else does.
        """
        admin = by.alone and await self._refusal(by) is None

        async def told() -> Done:
            own = await self._own(by) if by.alone else frozenset()
            spaces = await self._spaces(own | {EVERYONE})
            parts = await self.check_parts()
            return Done(status_text(parts, spaces, self.now(), admin=admin))

        return await _told(told)

    async def reindex(self, order: ReindexOrder, by: Orderer) -> Started | Refused:
        """Begin a run; the answer's id can be followed."""
        return await self._allowed(by, "reindex", lambda: self.reindexing.start(order, by))

    async def reindex_status(self, by: Orderer) -> Done | Refused:
        """Tell how far the runs are; for those who may begin one, as failures name pages."""
        return await self._allowed(by, "reindex status", lambda: self.reindexing.standing(by))

    async def cancel(self, order: ReindexCancel, by: Orderer) -> Done | Refused:
        """Stop a run."""
        return await self._allowed(by, "reindex cancel", lambda: self.reindexing.cancel(order, by))

    async def stop(self, run_id: str, by: Orderer) -> Done | Refused:
        """Stop a run by its id, also where it was killed and goes on under others."""
        return await self._allowed(by, "reindex stop", lambda: self.reindexing.stop(run_id, by))

    def follow(self, run_id: str) -> AsyncIterator[RunTold]:
        """Yield how far a run is until it has ended; as Watch.follow."""
        return self.watch.follow(run_id)

    async def settings(self, channel: str, by: Orderer) -> ChannelSettings | Refused:
        """Return a channel's settings as a form; ``channel`` is the platform's own name."""
        return await self._allowed(by, "settings", lambda: self._form(channel, by))

    async def save(self, channel: str, filled: Filled, by: Orderer) -> Done | Wrong | Refused:
        """Put what was filled in in place; say what is different from the next question on."""
        return await self._allowed(by, "save settings", lambda: self._save(channel, filled, by))

    async def _form(self, channel: str, by: Orderer) -> ChannelSettings:
        name = f"{by.platform}:{channel}"
        return form_of(
            name,
            await self.policies.of(self.tenant, name) or Policy(),
            spaces=[each.name for each in await self._spaces(None)],
            models=self.models,
            usual=self.usual_model,
        )

    async def _save(self, channel: str, filled: Filled, by: Orderer) -> Done | Wrong:
        form = await self._form(channel, by)
        chosen = read_form(filled, form)
        if isinstance(chosen, Wrong):
            return chosen
        different = changes(form.policy, chosen, form)
        if not different:
            return Done("Nothing was changed.")
        await self.policies.set(self.tenant, form.channel, chosen, actor=by.actor)
        return Done("Saved, from the next question on:\n" + "\n".join(different))

    async def _own(self, by: Orderer) -> frozenset[Principal]:
        return await self.directory.principals(self.tenant, by.person)

    async def _spaces(self, reader: SeenBy) -> Sequence[Space]:
        spaces = await self.reindexing.documents.spaces(reader)
        return [each for each in spaces if self.served is None or each.name in self.served]

    async def _allowed(
        self, by: Orderer, what: str, do: Callable[[], Awaitable[Answer]]
    ) -> Answer | Refused:
        """Do what only admins may; who else tries is told, and noted for the operator."""
        refused = await self._refusal(by)
        if refused is not None:
            _log.warning("orders.refused", order=what, by=by.actor, why=refused)
            return Refused(refused)
        return await _told(do)

    async def _refusal(self, by: Orderer) -> str | None:
        try:
            allowed = await may_order(by.person, by.admins, by.groups)
        except DeliveryFailed as error:
            _log.warning("orders.membership_unknown", by=by.actor, why=str(error))
            return _UNKNOWN
        return None if allowed else refusal(by.admins)


async def _told(do: Callable[[], Awaitable[Answer]]) -> Answer | Refused:
    try:
        return await do()
    except StoreUnavailable as error:
        _log.error("orders.unavailable", why=str(error))
        return Refused(_AWAY)
