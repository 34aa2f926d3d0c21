"""Find what a command names, and start, list and cancel its reindex runs.

Every change is audited first; if the audit entry can't be written, nothing is changed.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from bot.chat.commands.command_texts import progress_text, run_scope
from bot.chat.commands.parsing import quote_input
from bot.chat.commands.run_status import current_runs, run_status_of
from bot.chat.commands.types import (
    AllSpaces,
    CommandCaller,
    Done,
    PageByUrl,
    Refused,
    ReindexCancelRequest,
    ReindexRequest,
    SpaceByName,
    Started,
    Target,
)
from bot.chat.documents import Documents, Reindex
from bot.domain.formatting import join_names
from bot.domain.ports import Audits
from bot.domain.texts import join_texts, tr, trn
from bot.domain.texts.ingestion_texts import ingestion_text
from ingestion.errors import DocumentInTheWay, DocumentRefused, DocumentUnknown
from ingestion.library import LibraryDocument, Space
from ingestion.records.types import Run
from rag.types import EVERYONE

_OWN_PAGES = "/pages/"
"""Path prefix of pages without an address of their own, which this server shows."""


def url_variants(url: str) -> tuple[str, ...]:
    """Return the URLs that may denote the same page, the likeliest first.

    As given; without fragment; without query; with and without a trailing slash; and with special
    characters percent-encoded or decoded.
    """
    given = url.strip().rstrip(".,;!)")
    if "://" not in given and not given.startswith("/"):
        given = f"https://{given}"
    try:
        parts = urlsplit(given)
    except ValueError:
        return (given,)
    bare = urlunsplit(parts._replace(fragment=""))
    plain = urlunsplit(parts._replace(fragment="", query=""))
    forms = [given, bare, plain]
    if parts.path.startswith(_OWN_PAGES):
        forms.append(parts.path)
    ended = [*forms, *(_other_end(form) for form in forms)]
    spelled = [*ended, *(_other_spelling(form) for form in ended)]
    return tuple(dict.fromkeys(spelled))


def _other_end(form: str) -> str:
    return form[:-1] if form.endswith("/") else f"{form}/"


def _other_spelling(form: str) -> str:
    """Return a URL with special characters percent-encoded, or decoded if they are encoded."""
    decoded = unquote(form)
    return decoded if decoded != form else quote(form, safe=":/?#[]@!$&'()*+,;=~%")


_NAMED = 10
_ASKED_FOR_PAGES = "confluence"
"""Source type that can read a single page; its pages are identified by id."""


@dataclass(frozen=True, slots=True)
class ResolvedTarget:
    """The resolved space (None: all), and a sentence on how it was resolved, or "".

    ``page`` is the address or id of the one page to read, "" for the whole space.
    """

    space: str | None
    how: str = ""
    page: str = ""


async def resolve_target(
    target: Target, documents: Documents, runs: Reindex, by: CommandCaller
) -> ResolvedTarget | Refused:
    """Resolve a target, or refuse with the known spaces. Raises StoreUnavailable."""
    match target:
        case AllSpaces():
            return ResolvedTarget(None)
        case SpaceByName(name):
            return _space_named(name, await _spaces(documents, by), by)
        case PageByUrl(url):
            return await _of_page(url, documents, runs, by)


@dataclass(frozen=True, slots=True)
class _Spaces:
    """All spaces, and those that all readers of the reply may see."""

    all: Sequence[Space]
    told: Sequence[Space]


async def _spaces(documents: Documents, by: CommandCaller) -> _Spaces:
    every = await documents.spaces(None)
    return _Spaces(every, every if by.alone else await documents.spaces(frozenset({EVERYONE})))


async def _of_page(
    url: str, documents: Documents, runs: Reindex, by: CommandCaller
) -> ResolvedTarget | Refused:
    """Resolve a page by its source, which includes new pages; else by the index.

    A folder can't read a single page: its whole space is read.
    """
    page = await documents.at(url_variants(url), None)
    trouble = ""
    try:
        space = await runs.find_space(url)
    except DocumentRefused as error:
        space, trouble = None, ingestion_text(str(error))
    if space is not None:
        return ResolvedTarget(
            space, tr("{page} is in the space {space}.", page=_named(page, by), space=space), url
        )
    spaces = await _spaces(documents, by)
    if page is None:
        return Refused(trouble or _unknown(url, spaces, by))
    aim = _space_named(page.space, spaces, by)
    if isinstance(aim, Refused):
        return aim
    only = page.id if page.source == _ASKED_FOR_PAGES else ""
    return ResolvedTarget(
        aim.space,
        tr("{page} is in the space {space}.", page=_named(page, by), space=page.space),
        only,
    )


def _named(page: LibraryDocument | None, by: CommandCaller) -> str:
    return quote_input(page.title) if page is not None and by.alone else tr("That page")


def _unknown(url: str, spaces: _Spaces, by: CommandCaller) -> str:
    unknown = tr(
        "I don't know a page at {address}. Check the address, and whether its space is indexed. To "
        "reindex a whole space: {command}",
        address=quote_input(url),
        command=by.spelling.reindexing("SPACE"),
    )
    return join_texts("\n", (unknown, _known(spaces.told)))


def _space_named(name: str, spaces: _Spaces, by: CommandCaller) -> ResolvedTarget | Refused:
    """Resolve a space by its name, ignoring case if only one space matches."""
    exact = [each for each in spaces.all if each.name == name]
    found = exact or [each for each in spaces.all if each.name.casefold() == name.casefold()]
    if len(found) != 1:
        unknown = tr("There is no space {name}.", name=quote_input(name))
        return Refused(join_texts("\n", (unknown, _known(spaces.told, name))))
    if not found[0].reindexable:
        return Refused(
            tr(
                "The source of the space {space} is unknown, so it can't be reindexed. The person "
                "who runs Frontdesk has to index its folder once on the command line.\n"
                "{command} reindexes everything else.",
                space=found[0].name,
                command=by.spelling.reindexing("all"),
            )
        )
    return ResolvedTarget(found[0].name)


def _known(spaces: Sequence[Space], name: str = "") -> str:
    """Return the known spaces that can be reindexed, the most similar names first."""
    names = [each.name for each in spaces if each.reindexable]
    if not names:
        return tr("No space can be reindexed yet: no sources are known.")

    def unlike(other: str) -> float:
        return -difflib.SequenceMatcher(None, name.casefold(), other.casefold()).ratio()

    ordered = tuple(sorted(names, key=unlike)) if name else tuple(names)
    return tr("Known spaces: {names}.", names=join_names(ordered, _NAMED))


_LOOKED_AT = 100
_RECENT = 3
_RACE = tr("Another run was faster. Check its progress, and start this again when it has ended.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexRuns:
    """Start, list and cancel runs; the caller checks permissions.

    Every change is audited first; without an audit entry nothing is changed. Raises
    StoreUnavailable.
    """

    tenant: str
    documents: Documents
    runs: Reindex
    audits: Audits

    async def start(self, request: ReindexRequest, by: CommandCaller) -> Started | Refused:
        """Start a run over the command's target, or refuse with the reason."""
        aim = await resolve_target(request.target, self.documents, self.runs, by)
        if isinstance(aim, Refused):
            return aim
        waits = request.dry_run or bool(aim.page)
        in_the_way = None if waits else await self._in_the_way(aim.space)
        if in_the_way is not None:
            return Refused(_in_the_way_text(in_the_way, by), run_id=in_the_way.id)
        await self._audit(by, "reindex", aim.space or "all", _detail(request, aim.page))
        try:
            run_id = await self.runs.start(
                aim.space,
                by=by.actor,
                dry_run=request.dry_run,
                allow_mass_delete=request.allow_mass_delete,
                page=aim.page,
            )
        except DocumentInTheWay:
            return Refused(_RACE)
        except DocumentRefused as error:
            return Refused(ingestion_text(str(error)))
        return Started(run_id, _started(aim, request))

    async def status(self, by: CommandCaller) -> Done:
        """Return the progress of active runs, or how the last ones ended."""
        runs = await self.runs.newest(_LOOKED_AT)
        active = [run for run in runs if run.active]
        listed = active or runs[:_RECENT]
        if not listed:
            return Done(
                tr(
                    "Nothing has been reindexed yet. To start: {command}",
                    command=by.spelling.reindexing("all"),
                )
            )
        texts = [
            progress_text(run_status_of(run.id, (run,)), by.spelling, alone=by.alone)
            for run in listed
        ]
        head = () if active else (tr("Nothing is being reindexed right now. The last runs:"),)
        return Done(join_texts("\n\n", (*head, *texts)))

    async def cancel(self, request: ReindexCancelRequest, by: CommandCaller) -> Done | Refused:
        """Cancel the run that the command names; what it wrote stays."""
        active = [run for run in await self.runs.newest(_LOOKED_AT) if run.active]
        meant = active if request.target is None else _matching_runs(request.target, active)
        if not active:
            return Refused(tr("Nothing is being reindexed right now."))
        if len(meant) != 1:
            return Refused(_choose_text(request.target, active, by))
        (run,) = meant
        await self._stop(run, by)
        return _stopped(run)

    async def stop(self, run_id: str, by: CommandCaller) -> Done | Refused:
        """Cancel a followed run, or the runs that resumed it after its process was killed."""
        run = await self.runs.get(run_id)
        active = [each for each in await self._current(run) if each.active]
        if run is None or not active:
            return Refused(tr("This run has already ended."))
        for each in active:
            await self._stop(each, by)
        return _stopped(run)

    async def is_now(self, run_id: str, other_id: str) -> bool:
        """Return whether ``other_id`` is the run itself or resumed it."""
        now = await self._current(await self.runs.get(run_id))
        return other_id in {run_id, *(each.id for each in now)}

    async def _current(self, run: Run | None) -> Sequence[Run]:
        return () if run is None else await current_runs(run, self.runs.get)

    async def _stop(self, run: Run, by: CommandCaller) -> None:
        await self._audit(by, "cancel reindex", run.id, run_scope(run))
        with suppress(DocumentUnknown):  # it ended and was forgotten meanwhile
            await self.runs.cancel(run.id)

    async def _in_the_way(self, space: str | None) -> Run | None:
        return next(
            (
                run
                for run in await self.runs.newest(_LOOKED_AT)
                if run.active and not (run.dry_run or run.page) and _overlap(run.space, space)
            ),
            None,
        )

    async def _audit(self, by: CommandCaller, act: str, subject: str, detail: str) -> None:
        await self.audits.append(self.tenant, by.actor, act, subject, detail=detail)


def _stopped(run: Run) -> Done:
    return Done(
        tr("Stopping the run for {scope}. What is already indexed is kept.", scope=run_scope(run))
    )


def _matching_runs(target: str, active: Sequence[Run]) -> Sequence[Run]:
    """Return the runs that a target matches: by id or page, or by space.

    A space matches the runs over all of it, or else the runs over its pages.
    """
    wanted = target.casefold()
    named = [run for run in active if wanted in {run.id.casefold(), run.page.casefold()}]
    over_it = [run for run in active if wanted == (run.space or "all").casefold()]
    return named or [run for run in over_it if not run.page] or over_it


def _choose_text(target: str | None, active: Sequence[Run], by: CommandCaller) -> str:
    running = trn(
        "{n} run is in progress. Choose which one to stop:",
        "{n} runs are in progress. Choose which one to stop:",
        len(active),
    )
    lines: list[str] = [running, *(_cancel_line(run, by) for run in active)]
    if target is not None and len(_matching_runs(target, active)) > 1:
        lines.insert(0, tr("More than one run matches {target}.", target=quote_input(target)))
    elif target is not None:
        lines.insert(0, tr("No active run matches {target}.", target=quote_input(target)))
    return join_texts("\n", lines)


def _cancel_line(run: Run, by: CommandCaller) -> str:
    command, scope = by.spelling.reindexing("cancel", run.id), run_scope(run)
    if run.dry_run:
        return tr("{command} ({scope}, dry run)", command=command, scope=scope)
    return join_texts("", (command, " (", scope, ")"))


def _in_the_way_text(run: Run, by: CommandCaller) -> str:
    progress = progress_text(run_status_of(run.id, (run,)), by.spelling, alone=by.alone)
    stop = by.spelling.reindexing("cancel", run.space or "all")
    busy = tr("Another run is in progress. Wait until it ends, or stop it: {command}", command=stop)
    return join_texts("\n\n", (busy, progress))


def _started(aim: ResolvedTarget, request: ReindexRequest) -> str:
    doing = _doing(aim, dry_run=request.dry_run)
    return join_texts(" ", (aim.how, doing)) if aim.how else doing


def _doing(aim: ResolvedTarget, *, dry_run: bool) -> str:
    if aim.page and dry_run:
        return tr("I'm checking what would change on it. Nothing will be changed.")
    if aim.page:
        return tr("I'm reindexing only that page, with its files.")
    space = tr("all spaces") if aim.space is None else aim.space
    if dry_run:
        return tr(
            "I'm checking what would change in {space}. Nothing will be changed.", space=space
        )
    return tr("I'm reindexing {space}. Unchanged pages cost nothing.", space=space)


def _detail(request: ReindexRequest, page: str) -> str:
    given = {
        f"page {page}": bool(page),
        "dry run": request.dry_run,
        "mass delete allowed": request.allow_mass_delete,
    }
    return ", ".join(each for each, is_so in given.items() if is_so)


def _overlap(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other
