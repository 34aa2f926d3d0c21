"""What became of a run that was killed: the runs that went on with it."""

from __future__ import annotations

from bot.documents.documents import Run
from bot.orders.ports import FollowsRuns


async def going_on(
    run: Run, runs: FollowsRuns, seen: frozenset[str] = frozenset()
) -> tuple[Run, ...]:
    """Return the runs that a run is by now: itself, or all that resumed it.

    Raises StoreUnavailable.
    """
    if run.state != "interrupted" or not run.resumed_as:
        return (run,)
    found: list[Run] = []
    for run_id in run.resumed_as:
        following = None if run_id in seen else await runs.get(run_id)
        if following is not None:
            found += await going_on(following, runs, seen | {run.id, run_id})
    return tuple(found)
