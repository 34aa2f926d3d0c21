"""Describe the progress of a reindex run as text: title, bar, facts, problems and cure.

Pure, and without any platform's markup.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bot.chat.commands.run_status import RunState, RunStatus
from bot.chat.commands.types import CommandSyntax
from bot.domain.text.formatting import counted
from bot.domain.text.markdown import clip
from ingestion.records.types import Failure, Run

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


def progress_of(told: RunStatus, spelling: CommandSyntax, *, alone: bool = True) -> Progress:
    """Return the parts of a run's progress; ``spelling`` is the platform's command syntax.

    ``alone``: only admins will read it. Otherwise no page is named, as readers may lack access.
    """
    running = told.state == "running" and told.total > 0
    return Progress(
        title=_title(told),
        share=min(1.0, told.pages / told.total) if running else None,
        facts=(*_page(told, alone=alone), *_facts(told)),
        trouble_title=_problem_title(told) if alone else _problem_count(told, spelling),
        troubles=tuple(_problem(each) for each in told.troubles if alone or each.mass_delete),
        cure=_cure(told, spelling),
    )


def progress_text(told: RunStatus, spelling: CommandSyntax, *, alone: bool = True) -> str:
    """Return the progress as lines of plain text, with names not escaped."""
    shown = progress_of(told, spelling, alone=alone)
    bar = [] if shown.share is None else [text_bar(shown.share)]
    titled = [shown.trouble_title] if shown.trouble_title else []
    troubles = [f"- {line}" for line in shown.troubles]
    cure = [shown.cure] if shown.cure else []
    return "\n".join([shown.title, *bar, *shown.facts, *titled, *troubles, *cure])


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


def _title(told: RunStatus) -> str:
    if told.state == "gone":
        return "A run that can't be followed any more"
    what = run_scope(told)
    if told.state == "done":
        return _done(told, what)
    look = "Looking what would change in" if told.dry_run else "Reindexing"
    return f"{look} {what}{_STATE_SUFFIX[told.state] or _at(told)}"


def _at(told: RunStatus) -> str:
    return f" (now {told.at_space})" if told.space is None and told.at_space else ""


def _done(told: RunStatus, what: str) -> str:
    if told.dry_run:
        return f"Dry run over {what}: nothing was changed"
    return f"Reindexing {what}: done" + (", but not all could be read" if told.failed else "")


def _page(told: RunStatus, *, alone: bool) -> Iterator[str]:
    if told.page and alone:
        yield f"Page: {clip(told.page, _LONGEST_PAGE)}"


def _facts(told: RunStatus) -> Iterator[str]:
    if told.state == "running" and not told.total:
        yield "Looking for what changed \u2026"
    elif told.state == "running":
        yield pace(told)
        if told.remaining:
            yield f"{told.remaining[:1].upper()}{told.remaining[1:]} left"
    elif told.ended and told.state != "gone":
        yield _report(told)
        if told.chunks:
            yield _written(told)
    if told.resumed:
        yield "It was interrupted and went on; the figures are since then."
    yield from filter(None, (told.embedding, told.note))


def pace(told: RunStatus) -> str:
    """Return the progress and speed of an active run."""
    parts = [f"{told.pages:,} of {counted(told.total, 'page')}", counted(told.chunks, "passage")]
    if told.chunks_per_second >= 1:
        parts.append(f"{told.chunks_per_second:.0f} a second")
    return ", ".join(parts)


def change_counts(told: RunStatus) -> tuple[str, ...]:
    """Return how many pages a run changed, or would change, by kind; zeros are left out."""
    counts = (
        (told.added, "added"),
        (told.changed, "changed"),
        (told.removed, "removed"),
        (told.readers_changed, "with new readers"),
        (told.skipped, "left out on purpose"),
    )
    return tuple(f"{count:,} {what}" for count, what in counts if count)


def _written(told: RunStatus) -> str:
    rate = f", {told.chunks_per_second:.0f} a second" if told.chunks_per_second >= 1 else ""
    return f"{counted(told.chunks, 'passage')} written{rate}"


def _report(told: RunStatus) -> str:
    changed = change_counts(told)
    unchanged = f"{counted(told.unchanged, 'page')} unchanged"
    if not changed:
        return f"Nothing changed, {unchanged}" if told.state == "done" else unchanged
    verb = "A real run would find: " if told.dry_run else ""
    return f"{verb}{', '.join(changed)}, {unchanged}"


def _problem_title(told: RunStatus) -> str:
    if not told.troubles:
        return ""
    most = max(told.failed, len(told.troubles))
    if most > len(told.troubles):
        return f"{counted(most, 'problem')}, the first of them:"
    return f"{counted(most, 'problem')}:"


def _problem_count(told: RunStatus, spelling: CommandSyntax) -> str:
    """Return the number of problems, and the command by which admins list them."""
    most = max(told.failed, len(told.troubles))
    where = f"{spelling.reindexing('status')}{spelling.alone} tells admins which."
    return f"{counted(most, 'problem')}; {where}" if most else ""


def _problem(trouble: Failure) -> str:
    where = trouble.page or f"The space {trouble.space}"
    reason = trouble.reason.rstrip(".")
    # Its cure is the command that is told at the end.
    cure = "" if trouble.mass_delete else f" {trouble.cure}"
    return clip(f"{where}: {reason}.{cure}", _LONGEST_TROUBLE)


def _cure(told: RunStatus, spelling: CommandSyntax) -> str:
    """Return how to allow a held-back deletion; other cures are in the problems' own lines."""
    held = [each.space for each in told.troubles if each.mass_delete]
    if not held or not told.ended:
        return ""
    commands = ", ".join(spelling.reindexing(space, "--allow-mass-delete") for space in held)
    return f"If those pages are meant to go: {commands}. Else look whether the source is complete."
