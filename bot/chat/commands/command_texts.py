"""What commands answer, as plain text: greetings, help, the status report, a run's progress.

Pure, and without any platform's markup.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot import __version__
from bot.chat.commands.run_status import RunState, RunStatus
from bot.chat.commands.types import CommandSyntax
from bot.domain.formatting import counted, rough_duration
from bot.domain.health import ComponentStatus
from bot.domain.markdown import clip
from ingestion.library import Space
from ingestion.records.types import Failure, Run

HELLO = (
    "Hello! Mention me with a question, and I answer in its thread from the company's pages, with "
    "the sources. If I am not sure, I say so."
)

CHAT_HELLO = (
    "Hello! Mention me with a question, and I answer here from the company's pages, with the "
    "sources. If I am not sure, I say so."
)
"""For a chat of several people without threads."""

PERSONAL_HELLO = (
    "Hello! Write me a question, such as how to reset a password, and I answer from the company's "
    "pages that you may read, with the sources. If I am not sure, I say so, and you can ask a "
    "person."
)


_WHAT = (
    "I answer questions from the company's pages, with the sources to look at. Where I am not "
    "sure, a person can be asked."
)
_WHY = "why your newest question here got the answer it got, or none"
_SHARE = "those who mend the pages may read the questions of yours that were not answered"
SHARES = (
    "Those who mend the pages may read the questions of yours that the pages did not answer, "
    "without your name. To stop that: {command}share my questions off"
)
SHARES_NOT = (
    "Those who mend the pages see a question of yours that was not answered only where three "
    "people asked it, where you asked it in a public channel, or if they work on it. To let them "
    "see the others, too: {command}share my questions on"
)


def help_text(spelling: CommandSyntax, *, admin: bool) -> str:
    """Return the help text as lines, with admin commands only for admins."""
    command, reindexing = spelling.command, spelling.reindexing
    lines = [
        _WHAT,
        f"{command}help: this list",
        f"{command}status: what I answer from, and how fresh it is",
        f"{command}my cases: your questions that people have",
    ]
    if command:
        lines[1:1] = [
            f"{command}ask QUESTION: only you see the answer",
            f"{command}why: {_WHY}",
        ]
    else:
        lines.append(f"/why: {_WHY}")
    lines.append(f"{command}share my questions on: {_SHARE}; off: stop that")
    if admin:
        lines += [
            f"{command}settings: what this channel allows",
            f"{command}digest on: once a week what the wiki lacks, here; off: stop that",
            f"{reindexing('SPACE')}: bring a space up to date; or one page by its address, or all",
            f"{reindexing('SPACE', '--dry-run')}: only say what would change",
            f"{reindexing('status')}: how far the runs are",
            f"{reindexing('cancel')}: stop a run; what it has written stays",
        ]
    return "\n".join(lines)


_KNOWLEDGE, _MODEL, _LIMITS = "knowledge", "model", "limits"
_MOST_SPACES = 15
_DAY = 86_400
_HOURS = 48 * 3600
"""Ages up to this many seconds are given in hours."""

_SIGNS = {"ready": "ready", "absent": "not set up", "limited": "limited", "paused": "paused"}


def status_text(
    parts: Sequence[ComponentStatus], spaces: Sequence[Space], now: datetime, *, admin: bool
) -> str:
    """Return the status report as lines. ``spaces`` are those that its readers may see.

    Only admins see the components by name with their problems, which may contain paths and
    settings.
    """
    lines = [*_summary(parts), *space_lines(spaces, now)]
    if admin:
        lines += ["", "Parts:", *(_part(part) for part in parts)]
    return "\n".join([*lines, f"Frontdesk {__version__}"])


def age_text(since: datetime, now: datetime) -> str:
    """Return how long ago a moment was."""
    seconds = max(0.0, (now - since).total_seconds())
    if seconds <= _HOURS:
        return f"{rough_duration(seconds)} ago"
    return f"{counted(round(seconds / _DAY), 'day')} ago"


def _summary(parts: Sequence[ComponentStatus]) -> Iterator[str]:
    states = {part.name: part.state for part in parts}
    if states.get(_LIMITS) == "paused":
        yield "I am paused: nobody is answered for now."
    elif states.get(_LIMITS) == "limited":
        yield "A limit is used up: fewer questions are answered for now."
    elif states.get(_KNOWLEDGE) == "failed":
        yield "I can't read my pages right now, so questions about the company go unanswered."
    else:
        yield "I am ready."
    if any(part.state == "failed" and part.name != _KNOWLEDGE for part in parts):
        yield "Something does not work as it should right now; whoever runs me can see what."
    if states.get(_MODEL) == "absent":
        yield "I answer in the pages' own words."


def space_lines(spaces: Sequence[Space], now: datetime) -> Iterator[str]:
    """Yield the lines of what may be asked and how fresh it is."""
    if not spaces:
        yield "I have no pages to answer from yet."
        return
    pages = sum(each.pages for each in spaces)
    yield f"I answer from {counted(pages, 'page')} in {counted(len(spaces), 'space')}:"
    for each in spaces[:_MOST_SPACES]:
        fresh = (
            ""
            if each.synced_at is None
            else f", brought up to date {age_text(each.synced_at, now)}"
        )
        yield f"- {each.name}: {counted(each.pages, 'page')}{fresh}"
    if len(spaces) > _MOST_SPACES:
        yield f"- and {len(spaces) - _MOST_SPACES} more"


def _part(part: ComponentStatus) -> str:
    state = _SIGNS.get(part.state, part.state)
    cure = f" {part.cure}" if part.cure and part.state != "ready" else ""
    return f"- {part.name} ({state}): {part.detail}{cure}"


_BAR = 20
_FULL, _EMPTY = "\u2588", "\u2591"
_LONGEST_TROUBLE = 300
_LONGEST_PAGE = 200
_STATE_SUFFIX: Mapping[RunState, str] = {
    "running": "",
    "waiting": ": waiting for its turn",
    "failed": ": stopped by a problem",
    "cancelled": ": cancelled",
    "interrupted": ": interrupted",
}


@dataclass(frozen=True, slots=True)
class Progress:
    """The parts of a run's progress, for a platform that renders a card.

    ``share`` is the fraction of pages done (0..1) while the run is active and the total is known.
    ``facts`` are short lines; ``troubles`` are lines below ``trouble_title``; ``cure`` says what
    can be done now, or "".
    """

    title: str
    share: float | None
    facts: tuple[str, ...]
    trouble_title: str = ""
    troubles: tuple[str, ...] = ()
    cure: str = ""

    def head_lines(self) -> list[str]:
        """Return the bar and the facts as lines."""
        return [*([] if self.share is None else [text_bar(self.share)]), *self.facts]

    def trouble_lines(self, bullet: str) -> list[str]:
        """Return the problems as lines after a bullet, below their title, and the cure."""
        troubles = [f"{bullet} {line}" for line in self.troubles]
        return [line for line in (self.trouble_title, *troubles, self.cure) if line]


def progress_of(status: RunStatus, spelling: CommandSyntax, *, alone: bool = True) -> Progress:
    """Return the parts of a run's progress; ``spelling`` is the platform's command syntax.

    ``alone``: only admins will read it. Otherwise no page is named, as readers may lack access.
    """
    running = status.state == "running" and status.total > 0
    page = [f"Page: {clip(status.page, _LONGEST_PAGE)}"] if status.page and alone else []
    return Progress(
        title=_title(status),
        share=min(1.0, status.pages / status.total) if running else None,
        facts=(*page, *_facts(status)),
        trouble_title=_problem_title(status) if alone else _problem_count(status, spelling),
        troubles=tuple(_problem(each) for each in status.troubles if alone or each.mass_delete),
        cure=_cure(status, spelling),
    )


def progress_text(status: RunStatus, spelling: CommandSyntax, *, alone: bool = True) -> str:
    """Return the progress as lines of plain text, with names not escaped."""
    progress = progress_of(status, spelling, alone=alone)
    return "\n".join([progress.title, *progress.head_lines(), *progress.trouble_lines("-")])


def text_bar(share: float) -> str:
    """Return a text progress bar with its percentage; 100 % only when all is done."""
    full = int(share * _BAR)
    return f"{_FULL * full}{_EMPTY * (_BAR - full)} {int(share * 100)} %"


def run_scope(run: Run | RunStatus) -> str:
    """Return what a run covers, without page names."""
    space = "all spaces" if run.space is None else run.space
    match run.extent:
        case "all":
            return space
        case "changes":
            return f"what changed in {space}"
        case "page":
            return f"a page of {space}"


def _title(status: RunStatus) -> str:
    if status.state == "gone":
        return "A run that can't be followed any more"
    what = run_scope(status)
    if status.state == "done":
        return _done(status, what)
    look = "Looking what would change in" if status.dry_run else "Reindexing"
    now = f" (now {status.at_space})" if status.space is None and status.at_space else ""
    return f"{look} {what}{_STATE_SUFFIX[status.state] or now}"


def _done(status: RunStatus, what: str) -> str:
    if status.dry_run:
        return f"Dry run over {what}: nothing was changed"
    return f"Reindexing {what}: done" + (", but not all could be read" if status.failed else "")


def _facts(status: RunStatus) -> Iterator[str]:
    if status.state == "running" and not status.total:
        yield "Looking for what changed \u2026"
    elif status.state == "running":
        yield pace(status)
        if status.remaining:
            yield f"{status.remaining[:1].upper()}{status.remaining[1:]} left"
    elif status.ended and status.state != "gone":
        yield _report(status)
        if status.chunks:
            yield _written(status)
    if status.resumed:
        yield "It was interrupted and went on; the figures are since then."
    yield from filter(None, (status.embedding, status.note))


def pace(status: RunStatus) -> str:
    """Return the progress and speed of an active run."""
    parts = [
        f"{status.pages:,} of {counted(status.total, 'page')}",
        counted(status.chunks, "passage"),
    ]
    if status.chunks_per_second >= 1:
        parts.append(f"{status.chunks_per_second:.0f} a second")
    return ", ".join(parts)


def change_counts(status: RunStatus) -> tuple[str, ...]:
    """Return how many pages a run changed, or would change, by kind; zeros are left out."""
    counts = (
        (status.added, "added"),
        (status.changed, "changed"),
        (status.removed, "removed"),
        (status.readers_changed, "with new readers"),
        (status.skipped, "left out on purpose"),
    )
    return tuple(f"{count:,} {what}" for count, what in counts if count)


def _written(status: RunStatus) -> str:
    rate = f", {status.chunks_per_second:.0f} a second" if status.chunks_per_second >= 1 else ""
    return f"{counted(status.chunks, 'passage')} written{rate}"


def _report(status: RunStatus) -> str:
    changed = change_counts(status)
    unchanged = f"{counted(status.unchanged, 'page')} unchanged"
    if not changed:
        return f"Nothing changed, {unchanged}" if status.state == "done" else unchanged
    verb = "A real run would find: " if status.dry_run else ""
    return f"{verb}{', '.join(changed)}, {unchanged}"


def _problem_title(status: RunStatus) -> str:
    if not status.troubles:
        return ""
    most = max(status.failed, len(status.troubles))
    if most > len(status.troubles):
        return f"{counted(most, 'problem')}, the first of them:"
    return f"{counted(most, 'problem')}:"


def _problem_count(status: RunStatus, spelling: CommandSyntax) -> str:
    """Return the number of problems, and the command by which admins list them."""
    most = max(status.failed, len(status.troubles))
    where = f"{spelling.reindexing('status')}{spelling.alone} tells admins which."
    return f"{counted(most, 'problem')}; {where}" if most else ""


def _problem(trouble: Failure) -> str:
    where = trouble.page or f"The space {trouble.space}"
    reason = trouble.reason.rstrip(".")
    # Its cure is the command that is told at the end.
    cure = "" if trouble.mass_delete else f" {trouble.cure}"
    return clip(f"{where}: {reason}.{cure}", _LONGEST_TROUBLE)


def _cure(status: RunStatus, spelling: CommandSyntax) -> str:
    """Return how to allow a held-back deletion; other cures are in the problems' own lines."""
    held = [each.space for each in status.troubles if each.mass_delete]
    if not held or not status.ended:
        return ""
    commands = ", ".join(spelling.reindexing(space, "--allow-mass-delete") for space in held)
    return f"If those pages are meant to go: {commands}. Else look whether the source is complete."
