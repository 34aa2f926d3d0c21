"""Deliver events as Slack does: again when not acknowledged, and sometimes when acknowledged.

https://docs.slack.dev/apis/events-api/: 2xx within three seconds, or up to three more deliveries.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field

import aiohttp
import numpy as np

from tests.fakes.slack import events
from tests.fakes.slack.names import BOT_USER
from tests.sweeps.chaos.questions import Question
from tests.sweeps.chaos.server_processes import ServerProcesses, Timeline

ACKNOWLEDGE_SECONDS = 3.0
_PATIENT_FROM = 2
_TWICE_SHARE = 0.15
_TWICE_WITHIN_SECONDS = 4.0
_PAIR_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Again:
    """When an event is delivered again: Slack waits nothing, one minute and five.

    Scaled down, so that all of it fits into a run. What was refused together does not come
    together minutes later: it is spread over ``spread_seconds``.
    """

    seconds: tuple[float, ...]
    spread_seconds: float


SOON_AGAIN = Again((0.3, 2.0, 6.0), 1.5)


@dataclass(slots=True)
class Receipt:
    """What became of the deliveries of one question; times in seconds of the timeline."""

    sent_at: float
    acknowledged_at: float | None = None
    deliveries: int = 0
    refusals: list[str] = field(default_factory=list)


class EventDelivery:
    """Delivers to a server chosen at random, as a load balancer would, dead ones included.

    The last two deliveries wait until a server is up, and go to one that is: Slack's come one and
    five minutes later, and neither a restart nor noticing a dead server takes as long.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        fleet: ServerProcesses,
        timeline: Timeline,
        draw: np.random.Generator,
        *,
        again: Again = SOON_AGAIN,
    ) -> None:
        self._session = session
        self._fleet = fleet
        self._again = again
        self._timeline = timeline
        self._draw = draw
        self._numbers = 0
        self.given_up = 0
        self.receipts: dict[int, Receipt] = {}

    async def ask(self, question: Question) -> None:
        """Deliver a question until it is acknowledged or given up; some twice, some as a pair."""
        self.receipts[question.number] = Receipt(self._timeline.now())
        bodies = [_asked(question)]
        if not question.private and self._draw.random() < _PAIR_SHARE:
            bodies.append(_copied(question))
        await asyncio.gather(*(self._deliver(question, self._envelope(body)) for body in bodies))
        self.given_up += self.receipts[question.number].acknowledged_at is None

    async def scatter(self, question: Question, copies: int, within_seconds: float) -> None:
        """Deliver a question several times, at random moments, whatever the answers are.

        If none is acknowledged it is delivered until one is.
        """
        receipt = self.receipts[question.number] = Receipt(self._timeline.now())
        envelope = self._envelope(_asked(question))

        async def copy() -> None:
            await asyncio.sleep(self._draw.random() * within_seconds)
            await self._attempt(receipt, envelope, {})

        await asyncio.gather(*(copy() for _ in range(copies)))
        if receipt.acknowledged_at is None:
            await self._deliver(question, envelope)

    def _envelope(self, event: dict[str, object]) -> bytes:
        self._numbers += 1
        return json.dumps(events.envelope(event, event_id=f"Ev{self._numbers:08d}")).encode()

    async def _deliver(self, question: Question, body: bytes) -> None:
        receipt = self.receipts[question.number]
        for number, wait in enumerate((0.0, *self._again.seconds)):
            await asyncio.sleep(wait)
            patient = number >= _PATIENT_FROM
            if patient:
                await self._until_up()
            headers = _retry_headers(number, receipt)
            if await self._attempt(receipt, body, headers, patient=patient):
                break
        else:
            return
        if self._draw.random() < _TWICE_SHARE:
            await asyncio.sleep(self._draw.random() * _TWICE_WITHIN_SECONDS)
            await self._attempt(receipt, body, _retry_headers(1, receipt))

    async def _until_up(self) -> None:
        """Wait for a moment, not the same for all, at which a server is up."""
        up = False
        while not up:
            await self._fleet.some_up.wait()
            await asyncio.sleep(self._draw.random() * self._again.spread_seconds)
            up = self._fleet.some_up.is_set()

    async def _attempt(
        self, receipt: Receipt, body: bytes, headers: dict[str, str], *, patient: bool = False
    ) -> bool:
        """Deliver once; return whether it was acknowledged in time."""
        receipt.deliveries += 1
        addresses = self._fleet.addresses(ready=patient)
        if not addresses:
            receipt.refusals.append("no server")
            return False
        url = addresses[int(self._draw.integers(len(addresses)))]
        try:
            async with self._session.post(
                f"{url}/slack/events",
                data=body,
                headers={**events.signed(body), **headers},
                timeout=aiohttp.ClientTimeout(total=ACKNOWLEDGE_SECONDS),
            ) as answer:
                status = answer.status
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            receipt.refusals.append(type(error).__name__)
            return False
        if not 200 <= status < 300:
            receipt.refusals.append(str(status))
            return False
        if receipt.acknowledged_at is None:
            receipt.acknowledged_at = self._timeline.now()
        return True


def _retry_headers(number: int, receipt: Receipt) -> dict[str, str]:
    if number == 0:
        return {}
    last = receipt.refusals[-1] if receipt.refusals else "http_timeout"
    reason = "http_error" if last.isdigit() else "http_timeout"
    return {"X-Slack-Retry-Num": str(number), "X-Slack-Retry-Reason": reason}


def _asked(question: Question) -> dict[str, object]:
    where: dict[str, object] = {"channel": question.channel, "user": question.user}
    if question.thread != question.ts:
        where["thread_ts"] = question.thread
    event = events.direct if question.private else events.mention
    return event(question.text, question.ts, **where)


def _copied(question: Question) -> dict[str, object]:
    """Return the channel's own copy of a mention, which Slack sends where the bot is a member."""
    mentioned = {**_asked(question), "type": "message", "channel_type": "channel"}
    return {**mentioned, "text": f"<@{BOT_USER}> {question.text}"}
