"""Takes over the runs of processes that died, until each is settled by what resumes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ingestion.records.ledger import Ledger
from ingestion.records.types import Run
from ingestion.types import Extent

Over = tuple[str, Extent, str]
"""Space, extent and page: what a run is over."""


@dataclass(frozen=True, slots=True)
class Adopted:
    """Runs that were taken over, and what each leaves to be read again."""

    runs: Sequence[Run]
    over: Mapping[str, Sequence[Over]]

    @property
    def allowed(self) -> frozenset[Over]:
        """What may lose even a large share: somebody had allowed that."""
        runs = [run for run in self.runs if run.allow_mass_delete]
        return frozenset(each for run in runs for each in self.over[run.id])

    def beyond(self, whole: Iterable[str]) -> Sequence[Over]:
        """Return all that is to be read, each once: these spaces, then what the runs leave."""
        first: list[Over] = [(space, "all", "") for space in whole]
        return list(
            dict.fromkeys((*first, *(one for again in self.over.values() for one in again)))
        )


class Adopting:
    """What this process took over is its own from then on, also when resuming it fails."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._taken: dict[str, Run] = {}

    async def adopted(self, known: Sequence[str]) -> Adopted:
        """Take over what is interrupted; ``known`` are the spaces that can be read."""
        self._taken |= {run.id: run for run in await self._ledger.interrupted()}
        runs = list(self._taken.values())
        return Adopted(runs, {run.id: _again(run, known) for run in runs})

    async def settle(self, adopted: Adopted, begun: Mapping[Over, str]) -> None:
        """Note what goes on with each. A start that is cut off before resumes it all the same."""
        if not adopted.runs:
            return
        await self._ledger.settle(
            [
                replace(run, resumed_as=tuple(begun[each] for each in adopted.over[run.id]))
                for run in adopted.runs
            ]
        )
        for run in adopted.runs:
            self._taken.pop(run.id, None)


def _again(run: Run, known: Sequence[str]) -> Sequence[Over]:
    if run.dry_run or run.state == "cancelled":
        return ()
    return [(space, run.extent, run.page) for space in known if run.space in {None, space}]
