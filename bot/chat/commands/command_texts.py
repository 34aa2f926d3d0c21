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
from bot.domain.formatting import rough_duration
from bot.domain.health import ComponentStatus
from bot.domain.markdown import clip
from bot.domain.texts import Text, changed, join_texts, tr, trn
from bot.domain.texts.ingestion_texts import ingestion_text
from ingestion.library import Space
from ingestion.records.types import Failure, Run

HELLO = tr(
    "Hello! Mention me with a question, and I'll answer in its thread from your company's pages, "
    "with sources. If I'm not sure, I'll say so."
)

CHAT_HELLO = tr(
    "Hello! Mention me with a question, and I'll answer here from your company's pages, with "
    "sources. If I'm not sure, I'll say so."
)
"""For a chat of several people without threads."""

PERSONAL_HELLO = tr(
    "Hello! Ask me a question, such as how to reset a password, and I'll answer from the company "
    "pages you can read, with sources. If I'm not sure, I'll say so, and you can ask a person."
)


_WHAT = tr(
    "I answer questions from your company's pages and show the sources. If I'm not sure, you can "
    "ask a person."
)
_WHY = tr("why your latest question here got its answer, or none")


def sharing_text(command: str, *, shares: bool) -> str:
    """Return whether those who maintain the pages may read a person's questions."""
    if shares:
        return tr(
            "The people who maintain the pages can read your unanswered questions, without your "
            "name. To stop that: {command}",
            command=f"{command}share my questions off",
        )
    return tr(
        "The people who maintain the pages see an unanswered question of yours only if three "
        "people asked it, if you asked it in a public channel, or if they work on it. To let them "
        "see the others, too: {command}",
        command=f"{command}share my questions on",
    )


def help_text(spelling: CommandSyntax, *, admin: bool) -> str:
    """Return the help text as lines, with admin commands only for admins."""
    return join_texts("\n", _help_lines(spelling, admin=admin))


def _help_lines(spelling: CommandSyntax, *, admin: bool) -> Iterator[str]:
    command, reindexing = spelling.command, spelling.reindexing
    yield _WHAT
    if command:
        yield _help_line(f"{command}ask {_QUESTION}", tr("only you see the answer"))
        yield _help_line(f"{command}why", _WHY)
    yield _help_line(f"{command}help", tr("this list"))
    yield _help_line(f"{command}status", tr("what I answer from, and how fresh it is"))
    yield _help_line(f"{command}my cases", tr("your questions to people"))
    if not command:
        yield _help_line("/why", _WHY)
    yield _help_line(
        f"{command}share my questions on",
        tr("let the people who maintain the pages read your unanswered questions; off: stop that"),
    )
    if admin:
        yield _help_line(f"{command}settings", tr("the settings of this channel"))
        yield _help_line(
            f"{command}digest on",
            tr("a weekly report here on what the wiki is missing; off: stop that"),
        )
        yield _help_line(
            reindexing("SPACE"), tr("reindex a space, one page by its address, or everything")
        )
        yield _help_line(reindexing("SPACE", "--dry-run"), tr("only show what would change"))
        yield _help_line(reindexing("status"), tr("the progress of the runs"))
        yield _help_line(reindexing("cancel"), tr("stop a run; what is already indexed is kept"))


def _help_line(command: str, meaning: str) -> str:
    return join_texts(": ", (command, meaning))


_QUESTION = "QUESTION"
_KNOWLEDGE, _MODEL, _LIMITS = "knowledge", "model", "limits"
_MOST_SPACES = 15
_DAY = 86_400
_HOURS = 48 * 3600
"""Ages up to this many seconds are given in hours."""
_ROUGHLY_A_MINUTE = 30
"""Seconds below which a rough duration is less than a minute."""

_SIGNS = {"absent": "not set up"}


def status_text(
    parts: Sequence[ComponentStatus], spaces: Sequence[Space], now: datetime, *, admin: bool
) -> str:
    """Return the status report as lines. ``spaces`` are those that its readers may see.

    Only admins see the components by name with their problems, which may contain paths and
    settings.
    """
    lines = [*_summary(parts), *space_lines(spaces, now)]
    if admin:
        lines += ["", tr("Components:"), *(_part(part) for part in parts)]
    return join_texts("\n", [*lines, f"Frontdesk {__version__}"])


def age_text(since: datetime, now: datetime) -> str:
    """Return how long ago a moment was."""
    seconds = max(0.0, (now - since).total_seconds())
    if seconds < _ROUGHLY_A_MINUTE:
        return tr("less than a minute ago")
    if seconds <= _HOURS:
        return tr("{time} ago", time=rough_duration(seconds))
    return trn("{n} day ago", "{n} days ago", round(seconds / _DAY))


def _summary(parts: Sequence[ComponentStatus]) -> Iterator[str]:
    states = {part.name: part.state for part in parts}
    if states.get(_LIMITS) == "paused":
        yield tr("I'm paused at the moment and don't answer anyone.")
    elif states.get(_LIMITS) == "limited":
        yield tr("A limit has been reached, so I answer fewer questions for now.")
    elif states.get(_KNOWLEDGE) == "failed":
        yield tr("I can't read my pages right now, so I can't answer questions about the company.")
    else:
        yield tr("I'm ready.")
    if any(part.state == "failed" and part.name != _KNOWLEDGE for part in parts):
        yield tr("Something is not working as it should right now; my admins can see what.")
    if states.get(_MODEL) == "absent":
        yield tr("I answer by quoting the pages.")


def space_lines(spaces: Sequence[Space], now: datetime) -> Iterator[str]:
    """Yield the lines of what may be asked and how fresh it is."""
    if not spaces:
        yield tr("I have no pages to answer from yet.")
        return
    yield tr(
        "I answer from {pages} in {spaces}:",
        pages=_pages(sum(each.pages for each in spaces)),
        spaces=trn("{n} space", "{n} spaces", len(spaces)),
    )
    for each in spaces[:_MOST_SPACES]:
        yield join_texts("", (f"- {each.name}: ", _space_line(each, now)))
    more = len(spaces) - _MOST_SPACES
    if more > 0:
        yield join_texts("", ("- ", tr("and {count} more", count=more)))


def _space_line(space: Space, now: datetime) -> str:
    if space.synced_at is None:
        return _pages(space.pages)
    return tr(
        "{pages}, updated {ago}", pages=_pages(space.pages), ago=age_text(space.synced_at, now)
    )


def _pages(number: int) -> Text:
    return trn("{n} page", "{n} pages", number)


def _part(part: ComponentStatus) -> str:
    state = _SIGNS.get(part.state, part.state)
    cure = f" {part.cure}" if part.cure and part.state != "ready" else ""
    return f"- {part.name} ({state}): {part.detail}{cure}"


_BAR = 20
_FULL, _EMPTY = "\u2588", "\u2591"
_LONGEST_TROUBLE = 300
_LONGEST_PAGE = 200
_STATE_SUFFIX: Mapping[RunState, str] = {
    "waiting": tr("queued"),
    "failed": tr("stopped by a problem"),
    "cancelled": tr("cancelled"),
    "interrupted": tr("interrupted"),
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
        troubles = [join_texts(" ", (bullet, line)) for line in self.troubles]
        return [line for line in (self.trouble_title, *troubles, self.cure) if line]


def progress_of(status: RunStatus, spelling: CommandSyntax, *, alone: bool = True) -> Progress:
    """Return the parts of a run's progress; ``spelling`` is the platform's command syntax.

    ``alone``: only admins will read it. Otherwise no page is named, as readers may lack access.
    """
    running = status.state == "running" and status.total > 0
    page = (
        [tr("Page: {page}", page=clip(status.page, _LONGEST_PAGE))] if status.page and alone else []
    )
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
    lines = [progress.title, *progress.head_lines(), *progress.trouble_lines("-")]
    return join_texts("\n", lines)


def text_bar(share: float) -> str:
    """Return a text progress bar with its percentage; 100 % only when all is done."""
    full = int(share * _BAR)
    return f"{_FULL * full}{_EMPTY * (_BAR - full)} {int(share * 100)} %"


def run_scope(run: Run | RunStatus) -> str:
    """Return what a run covers, without page names."""
    space = tr("all spaces") if run.space is None else run.space
    match run.extent:
        case "all":
            return space
        case "changes":
            return tr("changes in {space}", space=space)
        case "page":
            return tr("one page of {space}", space=space)


def _title(status: RunStatus) -> str:
    if status.state == "gone":
        return tr("A run that can no longer be followed")
    what = run_scope(status)
    if status.state == "done":
        return _done(status, what)
    if status.dry_run:
        title = tr("Dry run for {scope}", scope=what)
    else:
        title = tr("Reindexing {scope}", scope=what)
    if state := _STATE_SUFFIX.get(status.state):
        return join_texts(": ", (title, state))
    if status.space is None and status.at_space:
        return tr("{run} (now {space})", run=title, space=status.at_space)
    return title


def _done(status: RunStatus, what: str) -> str:
    if status.dry_run:
        return tr("Dry run for {scope}: nothing was changed", scope=what)
    if status.failed:
        return tr("Reindexing {scope}: done, but some pages could not be read", scope=what)
    return tr("Reindexing {scope}: done", scope=what)


def _facts(status: RunStatus) -> Iterator[str]:
    if status.state == "running" and not status.total:
        yield tr("Looking for changes \u2026")
    elif status.state == "running":
        yield pace(status)
        if status.remaining:
            yield tr("Time left: {time}", time=status.remaining)
    elif status.ended and status.state != "gone":
        yield _report(status)
        if status.chunks:
            yield _written(status)
    if status.resumed:
        yield tr("It was interrupted and resumed; the figures count from then.")
    yield from filter(None, (ingestion_text(status.embedding), status.note))


def pace(status: RunStatus) -> str:
    """Return the progress and speed of an active run."""
    parts = [
        trn("{done} of {n} page", "{done} of {n} pages", status.total, done=status.pages),
        trn("{n} passage", "{n} passages", status.chunks),
    ]
    if status.chunks_per_second >= 1:
        parts.append(tr("{count} per second", count=round(status.chunks_per_second)))
    return join_texts(", ", parts)


def change_counts(status: RunStatus) -> tuple[str, ...]:
    """Return how many pages a run changed, or would change, by kind; zeros are left out."""
    counts = (
        (status.added, tr("{count} added", count=status.added)),
        (status.changed, tr("{count} changed", count=status.changed)),
        (status.removed, tr("{count} removed", count=status.removed)),
        (status.readers_changed, tr("{count} with new readers", count=status.readers_changed)),
        (status.skipped, tr("{count} skipped on purpose", count=status.skipped)),
    )
    return tuple(text for count, text in counts if count)


def _written(status: RunStatus) -> str:
    written = trn("{n} passage indexed", "{n} passages indexed", status.chunks)
    if status.chunks_per_second < 1:
        return written
    rate = tr("{count} per second", count=round(status.chunks_per_second))
    return join_texts(", ", (written, rate))


def _report(status: RunStatus) -> str:
    changed = change_counts(status)
    unchanged = trn("{n} page unchanged", "{n} pages unchanged", status.unchanged)
    if not changed:
        nothing = tr("Nothing changed, {pages}", pages=unchanged)
        return nothing if status.state == "done" else unchanged
    listed = join_texts(", ", (*changed, unchanged))
    return tr("A real run would find: {changes}", changes=listed) if status.dry_run else listed


def _problem_title(status: RunStatus) -> str:
    if not status.troubles:
        return ""
    most = max(status.failed, len(status.troubles))
    if most > len(status.troubles):
        return trn("{n} problem, the first ones:", "{n} problems, the first ones:", most)
    return trn("{n} problem:", "{n} problems:", most)


def _problem_count(status: RunStatus, spelling: CommandSyntax) -> str:
    """Return the number of problems, and the command by which admins list them."""
    most = max(status.failed, len(status.troubles))
    if not most:
        return ""
    return trn(
        "{n} problem; admins see it with {command}",
        "{n} problems; admins see them with {command}",
        most,
        command=f"{spelling.reindexing('status')}{spelling.alone}",
    )


def _problem(trouble: Failure) -> str:
    where = trouble.page or trouble.space
    reason = ingestion_text(trouble.reason.rstrip("."))
    # The cure of a held-back deletion is the command that is told at the end.
    cure = "" if trouble.mass_delete else ingestion_text(trouble.cure)
    told = tr("{where}: {reason}. {cure}", where=where, reason=reason, cure=cure)
    return changed(told, _shortened)


def _shortened(words: str) -> str:
    return clip(words.rstrip(), _LONGEST_TROUBLE)


def _cure(status: RunStatus, spelling: CommandSyntax) -> str:
    """Return how to allow a held-back deletion; other cures are in the problems' own lines."""
    held = [each.space for each in status.troubles if each.mass_delete]
    if not held or not status.ended:
        return ""
    commands = ", ".join(spelling.reindexing(space, "--allow-mass-delete") for space in held)
    return tr(
        "If these pages should be removed: {commands}. Otherwise check the source for gaps.",
        commands=commands,
    )
