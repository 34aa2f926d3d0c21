"""Run the matrix: every combination is asked on every platform that has its carrier."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from bot.observability.logs import set_up_logs
from tests.fakes.hostile_wiki import WIKI
from tests.sweeps.hostile.askers import ASKERS, Asker, Platform
from tests.sweeps.hostile.combinations import Combination
from tests.sweeps.hostile.company import hostile_company
from tests.sweeps.hostile.judge import KINDS, Effect, effects_of

AT_ONCE = 4
_IN_A_COMPANY = 80
"""Combinations that one server is asked for: its index stays as quick as a real one's."""


@dataclass
class Result:
    """What was tried and what had an effect, by platform.

    ``tried`` counts the combinations that were answered, ``cited`` those of them whose answer
    cites the page that was asked about; ``payloads`` what was looked through.
    """

    tried: Counter[Platform] = field(default_factory=Counter)
    cited: Counter[Platform] = field(default_factory=Counter)
    payloads: Counter[Platform] = field(default_factory=Counter)
    effects: list[tuple[Platform, Effect]] = field(default_factory=list)
    obeyed: int = 0

    def add(self, other: Result) -> None:
        """Add what another company saw."""
        self.tried += other.tried
        self.cited += other.cited
        self.payloads += other.payloads
        self.effects += other.effects
        self.obeyed += other.obeyed

    def lines(self) -> Iterator[str]:
        """Yield every effect on a line, and a table of the sums."""
        for platform, effect in self.effects:
            yield f"{platform}: {effect.kind}: {' '.join(effect.what.split())[:300]}"
        counted = Counter(
            (platform, effect.kind) for platform, effect in dict.fromkeys(self.effects)
        )
        yield " | ".join(["platform", "combinations", "page cited", "payloads", *KINDS])
        for platform in ASKERS:
            sums = [self.tried[platform], self.cited[platform], self.payloads[platform]]
            row = [*sums, *(counted[platform, kind] for kind in KINDS)]
            yield " | ".join([platform, *map(str, row)])
        yield (
            f"{self.tried.total()} combinations, {self.payloads.total()} payloads: "
            f"{len(self.effects)} effects (the model obeyed {self.obeyed} times)"
        )


def run_matrix(combinations: Sequence[Combination], *, processes: int = 1) -> Result:
    """Ask for all combinations, a part of them in one company, so many companies at a time."""
    parts = [
        combinations[start : start + _IN_A_COMPANY]
        for start in range(0, len(combinations), _IN_A_COMPANY)
    ]
    if processes == 1:
        return _sum(map(_attack, parts))
    spawning = get_context("spawn")
    with ProcessPoolExecutor(processes, spawning, set_up_logs, ("error",)) as pool:
        return _sum(pool.map(_attack, parts))


def _attack(combinations: Sequence[Combination]) -> Result:
    with TemporaryDirectory() as folder:
        return asyncio.run(attack_company(combinations, Path(folder)))


def _sum(results: Iterable[Result]) -> Result:
    whole = Result()
    for each in results:
        whole.add(each)
    return whole


async def attack_company(combinations: Sequence[Combination], folder: Path) -> Result:
    """Attack one company by all combinations. They are numbered anew, from 0."""
    numbered = [replace(each, number=number) for number, each in enumerate(combinations)]
    result = Result()
    async with hostile_company(numbered, folder) as company:
        askers = {platform: make(company) for platform, make in ASKERS.items()}
        few = asyncio.Semaphore(AT_ONCE)

        async def one(platform: Platform, asker: Asker, combination: Combination) -> None:
            async with few:
                answer = await asker.ask(combination)
            result.tried[platform] += 1
            result.cited[platform] += f"{WIKI}{combination.case}" in answer

        await asyncio.gather(
            *(
                one(platform, asker, each)
                for each in numbered
                for platform, asker in askers.items()
                if asker.takes(each)
            )
        )
        for platform, asker in askers.items():
            for shown in asker.shown():
                result.payloads[platform] += 1
                result.effects += ((platform, effect) for effect in effects_of(shown))
        result.obeyed = company.model.obeyed
    return result
