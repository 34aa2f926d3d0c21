"""Build values for tests, with only what matters given."""

from __future__ import annotations

from datetime import UTC, datetime

from bot.domain.interactions import Route
from bot.domain.messages import (
    Activity,
    Audience,
    Inquiry,
    Intent,
    Message,
    Person,
    Platform,
    Stage,
    Thread,
)
from rag.types import EVERYONE, Chunk, Passage, Principal, Readers, Turn

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
ALL: Readers = (frozenset({EVERYONE}),)


def chunk(
    text: str,
    *,
    chunk_id: str = "c1",
    page_id: str = "vpn.md",
    title: str = "VPN",
    section: str = "",
    readers: Readers = ALL,
    tenant: str = "default",
    space: str = "IT",
    ordinal: int = 0,
    url: str = "https://wiki.example/vpn",
) -> Chunk:
    return Chunk(
        id=chunk_id,
        tenant=tenant,
        space=space,
        page_id=page_id,
        ordinal=ordinal,
        title=title,
        section=section,
        breadcrumb=(space, title, section) if section else (space, title),
        text=text,
        url=url,
        readers=readers,
        source_type="folder",
        source_id=page_id,
    )


def passage(chunk_: Chunk, score: float = 0.9, **signals: float) -> Passage:
    return Passage(chunk=chunk_, score=score, signals=signals or {"keyword": 5.0, "vector": score})


def message(
    text: str,
    *,
    message_id: str = "m1",
    platform: Platform = "web",
    channel: str = "anna",
    thread: str = "t1",
    person: str = "anna",
    private: bool = True,
    principals: frozenset[Principal] = frozenset({EVERYONE}),
) -> Message:
    return Message(
        id=message_id,
        thread=Thread(platform, "default", channel, thread),
        author=Person(person, principals=principals),
        text=text,
        received_at=NOON,
        private=private,
    )


def inquiry(asked: Message, *history: Turn, audience: Audience | None = None) -> Inquiry:
    private = Audience("private", asked.author.principals)
    channel = Audience("channel", frozenset({EVERYONE}))
    return Inquiry(asked, history, audience or (private if asked.private else channel))


def route(intent: Intent, question: str) -> Route:
    return Route(intent=intent, score=0.9, decided_by="rule", question=question)


def activities(*stages: Stage) -> list[Activity]:
    """Stages as they are recorded when no pages are counted."""
    return [Activity(stage) for stage in stages]
