"""Runs that are ordered: begun, told and stopped, in words for whoever ordered them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.documents.documents import Reindex, Run
from bot.errors import DocumentInTheWay, DocumentRefused
from bot.orders.aiming import Aim, aim_of
from bot.orders.ports import KnowsSpaces
from bot.orders.progress import over, progress_text
from bot.orders.resumed import going_on
from bot.orders.telling import told_of
from bot.orders.types import (
    Done,
    Orderer,
    Refused,
    ReindexCancel,
    ReindexOrder,
    Started,
)
from bot.orders.words import shown
from bot.ports import Audits
from bot.rendering.amounts import counted

_LOOKED_AT = 100
_RECENT = 3
_RACE = "Another run was quicker. Look how far it is, and order this again when it has ended."


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindexing:
    """Starts, tells and stops runs; who may is decided before.

    What changes something is audited first: what can't be is not done. Raises StoreUnavailable.
    """

    tenant: str
    documents: KnowsSpaces
    runs: Reindex
    audits: Audits

    async def start(self, order: ReindexOrder, by: Orderer) -> Started | Refused:
        """Begin a run over what is meant, or say why it can't be."""
        aim = await aim_of(order.target, self.documents, self.runs, by)
        if isinstance(aim, Refused):
            return aim
        waits = order.dry_run or bool(aim.page)
        in_the_way = None if waits else await self._in_the_way(aim.space)
        if in_the_way is not None:
            return Refused(_way_text(in_the_way, by), run_id=in_the_way.id)
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

    async def standing(self, by: Orderer) -> Done:
        """Tell how far the runs are that are under way, or how the last ones ended."""
        runs = await self.runs.newest(_LOOKED_AT)
        active = [run for run in runs if run.active]
        told = active or runs[:_RECENT]
        if not told:
            return Done(f"Nothing was reindexed yet. Begin: {by.spelling.reindexing('all')}")
        texts = [
            progress_text(told_of(run.id, (run,)), by.spelling, alone=by.alone) for run in told
        ]
        head = "" if active else "Nothing is being reindexed now. The last runs:\n\n"
        return Done(head + "\n\n".join(texts))

    async def cancel(self, order: ReindexCancel, by: Orderer) -> Done | Refused:
        """Stop the run that is meant; what it wrote stays."""
        active = [run for run in await self.runs.newest(_LOOKED_AT) if run.active]
        meant = active if order.target is None else _meant(order.target, active)
        if not active:
            return Refused("Nothing is being reindexed now, so there is nothing to stop.")
        if len(meant) != 1:
            return Refused(_which(order.target, active, by))
        (run,) = meant
        await self._stop(run, by)
        return _stopped(run)

    async def stop(self, run_id: str, by: Orderer) -> Done | Refused:
        """Stop a run that is followed, or what went on with it after it was killed."""
        run = await self.runs.get(run_id)
        now = () if run is None else await going_on(run, self.runs)
        active = [each for each in now if each.active]
        if run is None or not active:
            return Refused("This run doesn't go on any more, so there is nothing to stop.")
        for each in active:
            await self._stop(each, by)
        return _stopped(run)

    async def is_now(self, run_id: str, other_id: str) -> bool:
        """Tell whether a run is another one, or was gone on with by it."""
        run = await self.runs.get(run_id)
        now = () if run is None else await going_on(run, self.runs)
        return other_id in {run_id, *(each.id for each in now)}

    async def _stop(self, run: Run, by: Orderer) -> None:
        await self._audit(by, "cancel reindex", run.id, over(run))
        await self.runs.cancel(run.id)

    async def _in_the_way(self, space: str | None) -> Run | None:
        return next(
            (
                run
                for run in await self.runs.newest(_LOOKED_AT)
                if run.active and not (run.dry_run or run.page) and _meet(run.space, space)
            ),
            None,
        )

    async def _audit(self, by: Orderer, act: str, subject: str, detail: str) -> None:
        await self.audits.append(self.tenant, by.actor, act, subject, detail=detail)


def _stopped(run: Run) -> Done:
    return Done(f"The run over {over(run)} is being stopped. What was written stays.")


def _meant(target: str, active: Sequence[Run]) -> Sequence[Run]:
    """Return the runs that a target can mean: by id, or by what they are over.

    A space means the runs over all of it, unless there are none but over pages of it.
    """
    wanted = target.casefold()
    named = [run for run in active if wanted in {run.id.casefold(), run.page.casefold()}]
    over_it = [run for run in active if wanted == (run.space or "all").casefold()]
    return named or [run for run in over_it if not run.page] or over_it


def _which(target: str | None, active: Sequence[Run], by: Orderer) -> str:
    trouble = "" if target is None else f"No run that goes on is over {shown(target)}. "
    if target is not None and len(_meant(target, active)) > 1:
        trouble = f"More than one run is over {shown(target)}. "
    ways = [
        f"{by.spelling.reindexing('cancel', run.id)} ({over(run)}"
        f"{', dry run' if run.dry_run else ''})"
        for run in active
    ]
    return f"{trouble}Under way: {counted(len(active), 'run')}. Say which to stop:\n" + "\n".join(
        ways
    )


def _way_text(run: Run, by: Orderer) -> str:
    told = progress_text(told_of(run.id, (run,)), by.spelling, alone=by.alone)
    stop = by.spelling.reindexing("cancel", run.space or "all")
    return f"A run is in the way. Wait until it ends, or stop it: {stop}\n\n{told}"


def _started(aim: Aim, order: ReindexOrder) -> str:
    if aim.page:
        return _started_on_page(aim, order)
    what = "all spaces" if aim.space is None else f"the whole space {aim.space}"
    if order.dry_run:
        return f"{aim.how}I'm looking at what would change in {what}. Nothing is changed by that."
    return f"{aim.how}I'm bringing {what} up to date. Pages that did not change cost nothing."


def _started_on_page(aim: Aim, order: ReindexOrder) -> str:
    if order.dry_run:
        return f"{aim.how}I'm looking at what would change on it. Nothing is changed by that."
    return f"{aim.how}I'm bringing that page alone up to date, with its files."


def _detail(order: ReindexOrder, page: str) -> str:
    given = {
        f"page {page}": bool(page),
        "dry run": order.dry_run,
        "mass delete allowed": order.allow_mass_delete,
    }
    return ", ".join(each for each, is_so in given.items() if is_so)


def _meet(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other
