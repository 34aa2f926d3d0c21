"""Start, list and cancel reindex runs on command.

Every change is audited first; if the audit entry can't be written, nothing is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from bot.chat.commands.parsing import quote_input
from bot.chat.commands.run_progress import progress_text, run_scope
from bot.chat.commands.run_status import current_runs, run_status_of
from bot.chat.commands.targets import ResolvedTarget, resolve_target
from bot.chat.commands.types import (
    CommandCaller,
    Done,
    Refused,
    ReindexCancelRequest,
    ReindexRequest,
    Started,
)
from bot.chat.documents import Documents, Reindex
from bot.domain.ports import Audits
from bot.domain.text.formatting import counted
from ingestion.errors import DocumentInTheWay, DocumentRefused, DocumentUnknown
from ingestion.records.types import Run

_LOOKED_AT = 100
_RECENT = 3
_RACE = "Another run was quicker. Look how far it is, and order this again when it has ended."


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

    async def start(self, order: ReindexRequest, by: CommandCaller) -> Started | Refused:
        """Start a run over the command's target, or refuse with the reason."""
        aim = await resolve_target(order.target, self.documents, self.runs, by)
        if isinstance(aim, Refused):
            return aim
        waits = order.dry_run or bool(aim.page)
        in_the_way = None if waits else await self._in_the_way(aim.space)
        if in_the_way is not None:
            return Refused(_in_the_way_text(in_the_way, by), run_id=in_the_way.id)
        await self._audit(by, "reindex", aim.space or "all", _detail(order, aim.page))
        try:
            run_id = await self.runs.start(
                aim.space,
                by=by.actor,
                dry_run=order.dry_run,
                allow_mass_delete=order.allow_mass_delete,
                page=aim.page,
            )
        except DocumentInTheWay:
            return Refused(_RACE)
        except DocumentRefused as error:
            return Refused(str(error))
        return Started(run_id, _started(aim, order))

    async def status(self, by: CommandCaller) -> Done:
        """Return the progress of active runs, or how the last ones ended."""
        runs = await self.runs.newest(_LOOKED_AT)
        active = [run for run in runs if run.active]
        listed = active or runs[:_RECENT]
        if not listed:
            return Done(f"Nothing was reindexed yet. Begin: {by.spelling.reindexing('all')}")
        texts = [
            progress_text(run_status_of(run.id, (run,)), by.spelling, alone=by.alone)
            for run in listed
        ]
        head = "" if active else "Nothing is being reindexed now. The last runs:\n\n"
        return Done(head + "\n\n".join(texts))

    async def cancel(self, order: ReindexCancelRequest, by: CommandCaller) -> Done | Refused:
        """Cancel the run that the command names; what it wrote stays."""
        active = [run for run in await self.runs.newest(_LOOKED_AT) if run.active]
        meant = active if order.target is None else _matching_runs(order.target, active)
        if not active:
            return Refused("Nothing is being reindexed now, so there is nothing to stop.")
        if len(meant) != 1:
            return Refused(_choose_text(order.target, active, by))
        (run,) = meant
        await self._stop(run, by)
        return _stopped(run)

    async def stop(self, run_id: str, by: CommandCaller) -> Done | Refused:
        """Cancel a followed run, or the runs that resumed it after its process was killed."""
        run = await self.runs.get(run_id)
        active = [each for each in await self._current(run) if each.active]
        if run is None or not active:
            return Refused("This run doesn't go on any more, so there is nothing to stop.")
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
    return Done(f"The run over {run_scope(run)} is being stopped. What was written stays.")


def _matching_runs(target: str, active: Sequence[Run]) -> Sequence[Run]:
    """Return the runs that a target matches: by id or page, or by space.

    A space matches the runs over all of it, or else the runs over its pages.
    """
    wanted = target.casefold()
    named = [run for run in active if wanted in {run.id.casefold(), run.page.casefold()}]
    over_it = [run for run in active if wanted == (run.space or "all").casefold()]
    return named or [run for run in over_it if not run.page] or over_it


def _choose_text(target: str | None, active: Sequence[Run], by: CommandCaller) -> str:
    trouble = "" if target is None else f"No run that goes on is over {quote_input(target)}. "
    if target is not None and len(_matching_runs(target, active)) > 1:
        trouble = f"More than one run is over {quote_input(target)}. "
    commands = [
        f"{by.spelling.reindexing('cancel', run.id)} ({run_scope(run)}"
        f"{', dry run' if run.dry_run else ''})"
        for run in active
    ]
    return f"{trouble}Under way: {counted(len(active), 'run')}. Say which to stop:\n" + "\n".join(
        commands
    )


def _in_the_way_text(run: Run, by: CommandCaller) -> str:
    progress = progress_text(run_status_of(run.id, (run,)), by.spelling, alone=by.alone)
    stop = by.spelling.reindexing("cancel", run.space or "all")
    return f"A run is in the way. Wait until it ends, or stop it: {stop}\n\n{progress}"


def _started(aim: ResolvedTarget, order: ReindexRequest) -> str:
    if aim.page:
        doing = "I'm bringing that page alone up to date, with its files."
        place = "on it"
    else:
        what = "all spaces" if aim.space is None else f"the whole space {aim.space}"
        doing = f"I'm bringing {what} up to date. Pages that did not change cost nothing."
        place = f"in {what}"
    if order.dry_run:
        doing = f"I'm looking at what would change {place}. Nothing is changed by that."
    return f"{aim.how}{doing}"


def _detail(order: ReindexRequest, page: str) -> str:
    given = {
        f"page {page}": bool(page),
        "dry run": order.dry_run,
        "mass delete allowed": order.allow_mass_delete,
    }
    return ", ".join(each for each, is_so in given.items() if is_so)


def _overlap(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other
