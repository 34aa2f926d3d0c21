"""Send each step of a case to a configured address, signed, for ticket systems.

A step's event is written in the transaction of the step, and sent until the receiver confirms it,
with growing pauses, for a day. It may arrive twice, if this process dies before it has recorded the
confirmation; it has the same ``webhook-id`` at every attempt. Of a case, an event is sent after the
earlier ones. Id, time and signature are those of Standard Webhooks 1.0.0
(github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md).

The body says what the card in the people's channel says: pages are those that everyone may read at
the time of sending, and a withdrawn question is not sent.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol
from urllib.parse import urlsplit

import aiohttp
import structlog
from yarl import URL

from bot.answering.asker_identity import EVERYONE_PRINCIPALS
from bot.domain.cases import CaseStatus, CaseStep
from bot.domain.errors import InteractionUnknown
from bot.domain.interactions import Source
from bot.domain.messages import InteractionId
from bot.domain.ports import Audits
from bot.domain.settings import Settings
from bot.domain.urls import public_link
from bot.escalations.case_view import CaseView
from bot.escalations.casework import Casework
from bot.escalations.lifecycle import display_name

JOB = "case_webhook"
VERSION = "1"
"""Of the body; raised when a field changes its meaning or is removed, not when one is added."""

SECRET_PREFIX = "whsec_"  # noqa: S105 - marks a secret
TIMEOUT_SECONDS = 15.0
RETRY_FOR = timedelta(days=1)

_AT_ONCE = 8
_FIRST_PAUSE_SECONDS = 5.0
_LONGEST_PAUSE_SECONDS = 1800.0
_DELIVERED = range(200, 300)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CaseEvent:
    """A step of a case to be sent, and the case's status right after it.

    ``queued_at``: since when it is tried. ``attempts``: how often in vain.
    """

    interaction_id: InteractionId
    step: CaseStep
    status: CaseStatus
    queued_at: datetime
    attempts: int = 0

    @property
    def id(self) -> str:
        """Return the event's id, the same at every attempt and replay."""
        return f"{self.interaction_id}-{self.step.number}"


@dataclass(frozen=True, slots=True)
class WebhookCounts:
    """How many events wait and were given up, the last one sent, and the newest failure."""

    waiting: int
    given_up: int
    sent_at: datetime | None
    failure: str


class CaseEvents(Protocol):
    """The events in the record. Raises StoreUnavailable."""

    async def due(
        self, tenant: str, *, after: datetime, now: datetime, limit: int
    ) -> Sequence[CaseEvent]:
        """Return due events queued after a time, oldest first, of a case only the first one."""
        ...

    async def give_up(self, tenant: str, *, queued_until: datetime) -> int:
        """Send none of the waiting events queued up to a time; return how many."""
        ...

    async def sent(self, event: CaseEvent, at: datetime) -> None:
        """Record that the receiver confirmed an event."""
        ...

    async def later(self, event: CaseEvent, at: datetime, why: str) -> None:
        """Record a failed attempt, and the time of the next."""
        ...

    async def replay(self, tenant: str, *, since: datetime, now: datetime) -> int:
        """Queue all events of steps since a time once more, sent or not; return how many."""
        ...

    async def counts(self, tenant: str) -> WebhookCounts: ...


@dataclass(frozen=True, slots=True, repr=False)
class WebhookEndpoint:
    """Where events are sent, and the key that signs them; both are secrets."""

    url: str
    key: bytes

    @property
    def host(self) -> str:
        """Return the part of the address that may be logged and shown."""
        return urlsplit(self.url).hostname or ""


def endpoint_of(settings: Settings) -> WebhookEndpoint | None:
    """Return the configured endpoint, None for none."""
    url, secret = settings.case_webhook_url, settings.case_webhook_secret
    if url is None or secret is None:
        return None
    encoded = secret.get_secret_value().removeprefix(SECRET_PREFIX)
    return WebhookEndpoint(url.get_secret_value(), base64.b64decode(encoded))


class CaseWebhook:
    """Sends events to an endpoint.

    Args:
        tenant: Whose cases.
        endpoint: The receiver.
        events: The queue.
        casework: Builds the views of cases.
        now: Returns the current time.
        public_url: Base URL of our own pages, for links.
        timeout_seconds: How long the receiver may take.
    """

    def __init__(
        self,
        tenant: str,
        *,
        endpoint: WebhookEndpoint,
        events: CaseEvents,
        casework: Casework,
        now: Callable[[], datetime],
        public_url: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._tenant = tenant
        self._endpoint = endpoint
        self._events = events
        self._casework = casework
        self._now = now
        self._public_url = public_url
        self._timeout = aiohttp.ClientTimeout(total=timeout_seconds)

    async def run(self) -> bool:
        """Send what is due, a bounded number; return whether more may be due at once."""
        now = self._now()
        oldest = now - RETRY_FOR
        if given_up := await self._events.give_up(self._tenant, queued_until=oldest):
            log.error("webhook.given_up", host=self._endpoint.host, events=given_up)
        due = await self._events.due(self._tenant, after=oldest, now=now, limit=_AT_ONCE)
        if not due:
            return False
        # Without cookies: one receiver's answers must not mark later requests.
        async with aiohttp.ClientSession(
            timeout=self._timeout, cookie_jar=aiohttp.DummyCookieJar()
        ) as session:
            attempts = (self._send(session, each) for each in due)
            ended = await asyncio.gather(*attempts, return_exceptions=True)
        for each in ended:
            if isinstance(each, BaseException):
                raise each
        return any(ended)

    async def _send(self, session: aiohttp.ClientSession, event: CaseEvent) -> bool:
        """Make one attempt; return whether the receiver confirmed the event."""
        try:
            view = await self._casework.shown(
                self._tenant, event.interaction_id, EVERYONE_PRINCIPALS
            )
        except InteractionUnknown:
            # Withdrawn since it was read: its events are deleted, too.
            return False
        body = json.dumps(event_body(event, view, self._public_url)).encode()
        why = await self._post(session, event, body)
        if not why:
            await self._events.sent(event, self._now())
            return True
        pause = pause_after(event.attempts + 1)
        await self._events.later(event, self._now() + timedelta(seconds=pause), why)
        log.warning(
            "webhook.postponed", host=self._endpoint.host, event_id=event.id, why=why,
            seconds=round(pause),
        )  # fmt: skip
        return False

    async def _post(self, session: aiohttp.ClientSession, event: CaseEvent, body: bytes) -> str:
        """Post an event; return why it did not arrive, "" if it did. Nothing of it is read."""
        headers = signed_headers(self._endpoint.key, event.id, self._now(), body)
        try:
            async with session.post(
                # As configured: the receiver may sign or route by the exact address.
                URL(self._endpoint.url, encoded=True),
                data=body,
                headers=headers,
                allow_redirects=False,
            ) as response:
                return "" if response.status in _DELIVERED else f"It answered {response.status}."
        except TimeoutError:
            return f"It did not answer within {self._timeout.total:g} s."
        except (aiohttp.ClientError, OSError) as error:
            # The message of such an error may have the address.
            return f"It was not reached ({type(error).__name__})."


async def replay_events(
    events: CaseEvents, audits: Audits, tenant: str, since: datetime, actor: str
) -> int:
    """Queue the events of all steps since a time once more, for an admin; return how many.

    Raises StoreUnavailable.
    """
    count = await events.replay(tenant, since=since, now=datetime.now(UTC))
    await audits.append(tenant, actor, "webhook.replay", since.isoformat(), detail=str(count))
    return count


def signed_headers(key: bytes, id_: str, at: datetime, body: bytes) -> Mapping[str, str]:
    """Return the headers of a request with its signature by HMAC-SHA256, as the standard says."""
    timestamp = str(int(at.timestamp()))
    content = b".".join((id_.encode(), timestamp.encode(), body))
    signature = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return {
        "Content-Type": "application/json",
        "User-Agent": "Frontdesk",
        "webhook-id": id_,
        "webhook-timestamp": timestamp,
        "webhook-signature": f"v1,{signature}",
    }


def pause_after(attempts: int) -> float:
    """Return the seconds until the next attempt: doubling up to half an hour, with jitter."""
    doubled = _FIRST_PAUSE_SECONDS * 2.0 ** min(attempts - 1, 16)
    return min(doubled, _LONGEST_PAUSE_SECONDS) * random.uniform(0.5, 1.0)  # noqa: S311 - spread only


def event_body(event: CaseEvent, view: CaseView, public_url: str | None) -> Mapping[str, object]:
    """Return the body of an event; ``view`` is what everyone may read of the case."""
    step = event.step
    return {
        "type": f"case.{step.step}",
        "version": VERSION,
        "timestamp": _time(step.at),
        "data": {
            "case": _case(event, view, public_url),
            "step": {
                "number": step.number,
                "name": step.step,
                "by": display_name(step.actor.name) if step.actor else None,
                "role": step.actor.role if step.actor else None,
                "text": step.text,
                "to": display_name(step.detail.to.name) if step.detail.to else None,
                "about": step.detail.about or None,
            },
        },
    }


def _case(event: CaseEvent, view: CaseView, public_url: str | None) -> Mapping[str, object]:
    case, finding = view.case, view.finding
    platform = case.channel.partition(":")[0]
    return {
        "id": case.interaction_id,
        "state": event.status.state,
        "owner": display_name(event.status.owner_name) if event.status.owner_name else None,
        "question": case.question,
        "reason": case.reason,
        "asker": f"{case.asker_name or case.asker_id}{case.asker_mark}",
        "platform": platform,
        "private": case.private,
        "opened_at": _time(case.opened_at),
        "url": f"{public_url}/board/escalations/{case.interaction_id}" if public_url else None,
        "pages": [_page(each, public_url) for each in finding.suggestions] if finding else [],
    }


def _page(page: Source, public_url: str | None) -> Mapping[str, str]:
    return {"title": page.title or page.page_id, "url": public_link(page.url, public_url)}


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
