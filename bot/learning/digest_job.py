"""Send each weekly digest that is due, once.

Sending is recorded before and after: what was begun and not ended is looked up where the platform
can be searched, else sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

import structlog

from bot.domain.errors import DeliveryFailed, DeliveryRefused, StoreUnavailable
from bot.domain.messages import Platform
from bot.learning.digest import (
    DigestRecord,
    DigestWriter,
    Schedule,
    Sending,
    SendsDigests,
    Subscription,
)

JOB = "digest"
TRIED_FOR = timedelta(days=1)
"""So long after it was due a digest is sent, and tried again after a failure."""

log = structlog.get_logger(__name__)


class DigestJob:
    """Sends each digest that is due, once."""

    def __init__(
        self,
        tenant: str,
        record: DigestRecord,
        writer: DigestWriter,
        senders: Mapping[Platform, SendsDigests],
        schedule: Schedule,
        *,
        now: Callable[[], datetime],
    ) -> None:
        self._tenant = tenant
        self._record = record
        self._writer = writer
        self._senders = senders
        self._schedule = schedule
        self._now = now

    async def run(self) -> bool:
        """Send what is due; return False, for nothing is left to do at once."""
        now = self._now()
        week, due = self._schedule.last(now)
        if now - due > TRIED_FOR:
            return False
        for each in await self._record.listed(self._tenant):
            if not each.off and each.sent_week != week and each.created_at < due:
                await self._try(each, week, due)
        return False

    async def _try(self, wanted: Subscription, week: str, due: datetime) -> None:
        try:
            await self._send(wanted, week, due)
        except StoreUnavailable:
            raise
        except Exception:
            # One that breaks must not keep the others' digests from them.
            log.exception("digest.broke", platform=wanted.platform)

    async def _send(self, wanted: Subscription, week: str, due: datetime) -> None:
        tenant, target = self._tenant, wanted.target
        sender = self._senders.get(wanted.platform)
        if sender is None:
            await self._record.ended(tenant, target, week, f"{wanted.platform} is not set up.")
            return
        digest = await self._writer.write(wanted, due)
        if digest.empty:
            await self._record.ended(tenant, target, week)
            return
        again = wanted.tried_week == week
        await self._record.tried(tenant, target, week)
        sending = Sending(f"digest:{week}:{target}", digest, due, again)
        try:
            await sender.send_digest(wanted.address, sending)
        except DeliveryRefused as error:
            log.warning("digest.refused", platform=wanted.platform, why=str(error))
            await self._record.ended(tenant, target, week, str(error))
        except DeliveryFailed as error:
            log.warning("digest.not_sent", platform=wanted.platform, why=str(error))
            await self._record.failed(tenant, target, str(error))
        else:
            await self._record.ended(tenant, target, week)
