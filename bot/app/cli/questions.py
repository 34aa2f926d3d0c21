"""Run the desk from the command line: ask one question, or evaluate and certify on many.

Neither inbox nor store is used: no question is recorded.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from tqdm import tqdm

from bot.answering.admission import audience_of
from bot.answering.evaluation.evaluate import certify, evaluate
from bot.answering.evaluation.labelled_questions import RecordingComposer
from bot.answering.evaluation.markdown_tables import markdown
from bot.answering.evaluation.question_cases import Subject
from bot.answering.gate import GATE_FILE
from bot.app.components import gate_path, open_components
from bot.app.documents import load_ingestion_settings
from bot.chat.response_view import ResponseView, SourceLine, render
from bot.domain.health import NOTHING_INDEXED
from bot.domain.messages import Inquiry, Message, Person, Policy, Stage, Thread
from bot.domain.outcomes import confidence_level
from bot.domain.settings import Settings
from rag.ports import Composer
from rag.types import EVERYONE, Principal


async def ask(settings: Settings, question: str, *, groups: Sequence[str] = ()) -> int:
    """Print the answer and its sources; return 0 when answered, else 1 (also for a guess)."""
    asker = Person("cli", principals=frozenset({EVERYONE, *_group_principals(groups)}))
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
    async with open_components(settings, superseded=superseded) as parts:
        if not await parts.index.spaces(settings.tenant):
            print(NOTHING_INDEXED)
            return 1
        outcome = await parts.desk.handle(inquiry, _ignore_progress)
    print(_terminal_text(render(outcome.response, private=True, remarks=outcome.remarks)))
    answered = outcome.response.kind == "reply" and confidence_level(outcome) != "unsure"
    return 0 if answered else 1


def _terminal_text(rendered: ResponseView) -> str:
    """Render a response for a terminal: the text, then the pages with their quotes."""
    lines = [rendered.text, ""]
    if rendered.lines:
        lines.append(rendered.heading)
        lines += [_source_line(line) for line in rendered.lines]
    return "\n".join([*lines, *rendered.remarks, rendered.footer]).strip()


def _source_line(line: SourceLine) -> str:
    number = f"[{line.number}]" if line.number is not None else " - "
    return f"{number} {line.label}" + (f"\n    {line.url}" if line.url else "")


def _group_principals(names: Sequence[str]) -> frozenset[Principal]:
    return frozenset(Principal(f"group:{name}") for name in names)


async def _ignore_progress(_: Stage, __: int = 0) -> None:
    """Ignore progress: the answer comes within a second."""


async def run_evaluation(settings: Settings, questions: Path, *, out: Path | None) -> int:
    """Evaluate and print the report as Markdown; write it as JSON if ``out`` is given."""
    async with _open_subject(settings) as subject:
        with tqdm(desc="questions", unit=" asked", file=sys.stderr) as bar:

            def advance(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            report = await evaluate(subject, questions, out=out, progress=advance)
    print(markdown(report))
    return 0


async def run_certification(settings: Settings, questions: Path) -> int:
    """Certify a threshold and write the gate file to the data directory; return 1 without one."""
    out = settings.data_dir / GATE_FILE.name
    async with _open_subject(settings) as subject:
        found = await certify(subject, questions, out, gate=gate_path(settings))
    if found is None:
        print(
            "Nothing can be promised on these questions: the threshold stays as it is. "
            "docs/confidence.md says why."
        )
        return 1
    print(
        f"At most {found.target_error:.0%} wrong among the answered, with {found.confidence:.0%} "
        f"confidence, from {found.threshold:.3f} up; that answers {found.coverage:.0%}. "
        f"Written to {out}; it holds from the next start on."
    )
    return 0


@asynccontextmanager
async def _open_subject(settings: Settings) -> AsyncIterator[Subject]:
    """Open the desk as it is in use, with a RecordingComposer around its composer."""
    recorders: list[RecordingComposer] = []

    def observe(composer: Composer) -> Composer:
        recorders.append(RecordingComposer(composer))
        return recorders[-1]

    superseded = load_ingestion_settings().confluence_superseded_labels
    async with open_components(settings, observe, superseded=superseded) as parts:
        yield Subject(parts.desk, recorders[0], parts.index, parts.embedder, settings.tenant)
