"""Orders, runs, and the bot's coming and going."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from tests.bot.house import until
from tests.bot.shelves import RUN
from tests.conformance.platforms import Installing, Missing, Orders, Question
from tests.conformance.scene import Scene

_PATIENCE_SECONDS = 6.0
_PRIVATE = Question("how do I print?", private=True)


@dataclass(frozen=True)
class IsOrdered:
    """An order is answered to who gave it, and is no question."""

    order: str
    told: str
    admin: bool = False

    async def __call__(self, scene: Scene) -> None:
        orders = _orders(scene)
        await orders.give(self.order, admin=self.admin)
        read = await _reads(orders, self.told, admin=self.admin)
        scene.expect(self.told in read, f"who ordered reads {read!r}")
        scene.expect_asked()
        scene.expect(not orders.shelf.runs, "something is reindexed")


async def reindexes(scene: Scene) -> None:
    """An admin's order begins a run, which is shown from its beginning to its end."""
    orders = _orders(scene)
    await orders.give("reindex IT", admin=True)
    await until(lambda: orders.shelf.runs)
    scene.expect(orders.shelf.runs[0].space == "IT", "another space is reindexed")
    begun = await _reads(orders, "1 of 4 pages", admin=True)
    scene.expect("1 of 4 pages" in begun, f"who ordered reads {begun!r}")
    orders.shelf.goes(state="done", ended_at=RUN.ended_at, pages=4, changed=3)
    ended = await _reads(orders, "Reindexing IT: done", admin=True)
    scene.expect("Reindexing IT: done" in ended, f"who ordered reads {ended!r}")
    scene.expect("1 of 4 pages" not in ended, "the beginning is shown beside the end")


async def welcomes_once(scene: Scene) -> None:
    """It says hello where it is added, and not again where it was before."""
    installing = _installing(scene)
    await installing.install()
    await until(installing.welcomes)
    await installing.install()
    await scene.quiet()
    times = installing.welcomes()
    scene.expect(times == 1, f"it says hello {times} times")


async def is_removed(scene: Scene) -> None:
    """Once it is removed, what it was working on is not shown, nor tried to be."""
    installing = _installing(scene)
    scene.desk.hold()
    await scene.platform.ask(_PRIVATE)
    await scene.desk.reached.wait()
    await installing.uninstall()
    before = installing.calls()
    scene.desk.release()
    await scene.worked()
    tried = installing.calls() - before
    scene.expect(not tried, f"it tries {tried} times to show something")


async def _reads(orders: Orders, words: str, *, admin: bool) -> str:
    """Return what who ordered reads, as soon as these words are there, or at last."""
    with suppress(TimeoutError):
        await until(lambda: words in orders.read(admin=admin), seconds=_PATIENCE_SECONDS)
    return orders.read(admin=admin)


def _orders(scene: Scene) -> Orders:
    if scene.platform.hands.orders is None:
        raise Missing
    return scene.platform.hands.orders


def _installing(scene: Scene) -> Installing:
    if scene.platform.hands.installing is None:
        raise Missing
    return scene.platform.hands.installing
