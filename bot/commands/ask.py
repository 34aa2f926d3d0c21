"""Asks one question on the command line, without inbox or record."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime

from bot.admission import audience_of
from bot.app.settings import load_ingestion_settings
from bot.chat.response_view import ResponseView, SourceLine, render
from bot.domain.health import NOTHING_INDEXED
from bot.domain.outcomes import confidence_level
from bot.domain.settings import Settings
from bot.domain.types import Inquiry, Message, Person, Policy, Stage, Thread
from bot.parts import open_parts
from bot.superseded import MarksSuperseded
from rag.types import EVERYONE, Principal


async def ask(settings: Settings, question: str, *, groups: Sequence[str] = ()) -> int:
    """Print the answer and its sources; 0 when answered, 1 when not: a guess is no answer."""
    asker = Person("cli", principals=frozenset({EVERYONE, *_groups(groups)}))
    message = Message(
        id=str(uuid.uuid4()),
        thread=Thread("cli", settings.tenant, "cli", "cli"),
        author=asker,
        text=question,
        received_at=datetime.now(UTC),
        private=True,
    )
    inquiry = Inquiry(message, (), audience_of(message), Policy(spaces=settings.index_spaces))
    superseded = load_ingestion_settings().confluence_superseded_labels
    async with open_parts(settings, superseded=superseded) as parts:
        if not await parts.index.spaces(settings.tenant):
            print(NOTHING_INDEXED)
            return 1
        outcome = await MarksSuperseded(parts.desk, superseded).handle(inquiry, _quiet)
    print(_printed(render(outcome.response, private=True, remarks=outcome.remarks)))
    answered = outcome.response.kind == "reply" and confidence_level(outcome) != "unsure"
    return 0 if answered else 1


def _printed(rendered: ResponseView) -> str:
    """Return a response for a terminal: the text, then the pages with their quotes."""
    lines = [rendered.text, ""]
    if rendered.lines:
        lines.append(rendered.heading)
        lines += [_listed(line) for line in rendered.lines]
    return "\n".join([*lines, *rendered.remarks, rendered.footer]).strip()


def _listed(line: SourceLine) -> str:
    number = f"[{line.number}]" if line.number is not None else " - "
    return f"{number} {line.label}" + (f"\n    {line.url}" if line.url else "")


def _groups(names: Sequence[str]) -> frozenset[Principal]:
    return frozenset(Principal(f"group:{name}") for name in names)


async def _quiet(_: Stage, __: int = 0) -> None:
    """Say nothing: the answer comes within a second."""
