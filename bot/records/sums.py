"""What the record tells about itself: sums, lists and acts; all frozen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from bot.types import Policy

Dimension = Literal["day", "model", "channel", "person", "tenant"]
"""What usage is summed by; a day is one of UTC, as ``2026-11-22``."""


@dataclass(frozen=True, slots=True)
class Span:
    """From ``since`` up to, and without, ``until``; both with their zone."""

    since: datetime
    until: datetime

    def __post_init__(self) -> None:
        for moment in (self.since, self.until):
            if moment.tzinfo is None:
                raise ValueError(f"{moment!r} has no zone. Give one, such as datetime.UTC.")


@dataclass(frozen=True, slots=True)
class UsageSum:
    """What calls of models came to; ``key`` is the day, model, channel, person or tenant.

    ``cost_usd`` counts only calls with a known price; ``unpriced_calls`` are the others.
    """

    key: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced_calls: int


@dataclass(frozen=True, slots=True)
class ConversationRecord:
    """A thread that was written to; ``thread`` is bot.types.Thread.key."""

    tenant: str
    thread: str
    channel: str
    private: bool
    started_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class PolicyRecord:
    """What an admin set for a channel (``platform:channel``), and when."""

    channel: str
    policy: Policy
    changed_by: str
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One act of an admin; ``number`` is the order of the acts of all tenants.

    ``name`` is what who did it was called then, where the record has that.
    """

    number: int
    at: datetime
    actor: str
    act: str
    subject: str
    detail: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Swept:
    """What the retention removed: interactions and conversations; usage rows made nameless.

    ``refused`` are interactions too, of which no text was kept.
    """

    interactions: int = 0
    conversations: int = 0
    usage: int = 0
    refused: int = 0


class SumsUsage(Protocol):
    """What calls of models came to. Raises bot.errors.StoreUnavailable."""

    async def sums(
        self, span: Span, by: Dimension, tenant: str | None = None
    ) -> Sequence[UsageSum]: ...
