"""Fake what a command in chat is given: its caller, groups, runs, notes and policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.chat.commands.types import Admins, CommandCaller, CommandSyntax, InGroup
from bot.domain.errors import DeliveryFailed, StoreUnavailable
from bot.domain.messages import Person, Policy
from ingestion.records.types import Run
from tests.fakes.chat_context import RUN

SLACK = CommandSyntax("/frontdesk ", "/reindex")
ADMINS = Admins("SLACK_ADMINS", ids=frozenset({"U1"}), groups=frozenset({"S1"}))
RUNNING = replace(RUN, state="running", ended_at=None, pages=1, total=4, chunks=10)


def command_caller(
    person: str = "U1", *, admins: Admins = ADMINS, in_group: InGroup | None = None
) -> CommandCaller:
    """Somebody who orders on Slack; U1 is an admin."""
    return CommandCaller(Person(person), "slack", admins, SLACK, in_group)


class FakeGroups:
    """Implements InGroup; may be away."""

    def __init__(self, *members: tuple[str, str], away: bool = False) -> None:
        self._members = members
        self._away = away
        self.asked = 0

    async def __call__(self, person_id: str, group_id: str) -> bool:
        self.asked += 1
        if self._away:
            raise DeliveryFailed("Slack is away.")
        return (person_id, group_id) in self._members


class ScriptedRuns:
    """Implements GetRun by ``get``: what is there at each second of a played clock.

    ``None`` is a run that is not known, StoreUnavailable a ledger that can't be read. The last
    scene stays.
    """

    def __init__(self, scenes: Sequence[tuple[float, dict[str, Run] | None]]) -> None:
        self._scenes = scenes
        self.seconds = 0.0

    def clock(self) -> float:
        return self.seconds

    async def pause(self, seconds: float) -> None:
        self.seconds += seconds

    async def get(self, run_id: str) -> Run | None:
        scene = [runs for begins, runs in self._scenes if begins <= self.seconds][-1]
        if scene is None:
            raise StoreUnavailable("The ledger is away.")
        return scene.get(run_id)


class MemoryAudits:
    """Implements Audits; may be away."""

    def __init__(self, *, away: bool = False) -> None:
        self._away = away
        self.acts: list[tuple[str, str, str, str]] = []

    async def append(
        self, tenant: str, actor: str, act: str, subject: str, *, detail: str = ""
    ) -> None:
        if self._away:
            raise StoreUnavailable("The record is away.")
        self.acts.append((actor, act, subject, detail))


class MemoryPolicies:
    """Implements Policies."""

    def __init__(self) -> None:
        self.kept: dict[str, Policy] = {}
        self.actors: list[str] = []

    async def of(self, tenant: str, channel: str) -> Policy | None:
        return self.kept.get(channel)

    async def channels(self, tenant: str) -> Sequence[str]:
        return sorted(self.kept)

    async def set(
        self,
        tenant: str,
        channel: str,
        allowed: Policy,
        *,
        actor: str,
        instead_of: Policy | None = None,
    ) -> bool:
        if instead_of not in {None, self.kept.get(channel, Policy())}:
            return False
        self.kept[channel] = allowed
        self.actors.append(actor)
        return True
