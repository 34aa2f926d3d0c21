"""People are told that a run held back, once a day, wherever they are asked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bot.chat.commands.reindexing import MassDeleteAlert
from bot.domain.errors import DeliveryFailed
from bot.store.database import Store

WHY = "41 of 50 pages would be removed."


class Place:
    """Implements TellsPeople; may be away."""

    def __init__(self, platform: str) -> None:
        self.platform = platform
        self.told: list[str] = []
        self.away = False

    async def tell_people(self, text: str) -> None:
        if self.away:
            raise DeliveryFailed("It is away.")
        self.told.append(text)


class Clock:
    now = datetime(2026, 11, 22, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


async def test_each_platform_is_told_once_a_space_and_day_by_all_processes(store: Store) -> None:
    slack, teams, clock = Place("slack"), Place("teams"), Clock()
    for _ in range(3):
        channels = (slack, object(), teams)
        news = MassDeleteAlert(tenant="acme", notes=store.notes, channels=channels, now=clock)
        await news("HR", WHY)

    assert len(slack.told) == len(teams.told) == 1
    assert "the space HR" in slack.told[0]
    assert "41 of 50 pages would be removed. If" in slack.told[0]
    assert "reindex HR --allow-mass-delete" in slack.told[0]
    await news("IT", WHY)
    clock.now += timedelta(days=1)
    await news("HR", WHY)
    assert len(slack.told) == 3


async def test_what_did_not_get_through_is_told_by_the_next_run(store: Store) -> None:
    slack, teams = Place("slack"), Place("teams")
    news = MassDeleteAlert(tenant="acme", notes=store.notes, channels=(slack, teams), now=Clock())
    slack.away = True
    await news("HR", WHY)
    slack.away = False
    await news("HR", WHY)

    assert (len(slack.told), len(teams.told)) == (1, 1)
