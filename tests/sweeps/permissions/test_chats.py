"""Ask in Slack and Teams in generated companies: nobody is shown too much."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from bot.domain.messages import Policy
from tests.fakes.applications import slack_settings, teams_settings
from tests.fakes.slack import names as slack_names
from tests.fakes.slack.server import FakeSlack
from tests.fakes.spans import Spans
from tests.fakes.teams.server import FakeTeams
from tests.sweeps.permissions.application import Served, serving
from tests.sweeps.permissions.company import (
    ADMIN,
    COLLEAGUES,
    EVERYBODY,
    EXPERT,
    OPEN_SPACES,
    Company,
    Reader,
    pages_in,
)
from tests.sweeps.permissions.findings import Findings
from tests.sweeps.permissions.plans import Plan, smoke, whole
from tests.sweeps.permissions.tried import Tried
from tests.sweeps.permissions.workplaces import (
    GUEST,
    SHADOW,
    STRANGER,
    InSlack,
    InTeams,
    Workplace,
    settled,
    slack_id,
    teams_id,
)

pytestmark = pytest.mark.attack
PLANS = [*smoke(3, cases=25), *whole(range(200, 204))]
STAFF = frozenset(COLLEAGUES)
UNSEEN = frozenset({"label", "front"})
SMALL = Plan(5, "embedded", model=False, cases=10)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


SLACK = {
    "slack_escalation_channel": slack_names.PEOPLE,
    "slack_outsider_spaces": OPEN_SPACES,
    "slack_admins": (slack_id(ADMIN),),
}
TEAMS = {"teams_outsider_spaces": OPEN_SPACES, "teams_admins": (teams_id(ADMIN),)}


@dataclass(frozen=True)
class Platform:
    """Slack or Teams: the least settings, and ``opened`` to people from outside."""

    settings: Mapping[str, object]
    workplace: Callable[[Served], Workplace]
    opened: Mapping[str, object]
    tried: Tried


def digests_now() -> dict[str, object]:
    """Return the settings with which a digest is due today."""
    return {"digest_day": WEEKDAYS[datetime.now(UTC).weekday()], "digest_hour": 0}


async def live(served: Served, place: Workplace, findings: Findings, plan: Plan) -> None:
    """Have people ask, work on cases, get digests, and the company change."""
    company = served.company
    questions = company.questions(place.people, again=plan.saves_answers)
    await place.subscribe()
    for number in range(plan.rounds):
        if number:
            findings.happened = "; ".join(company.change() for _ in range(3))
            await served.index()
        for _ in range(plan.cases // plan.rounds):
            person, _, text = next(questions)
            acted = await place.ask(person, text, company.draw)
            findings.look_at_prompts([EVERYBODY, *(Reader(each) for each in acted & STAFF)])
            look(place, findings)
        await place.work_on_cases(company.draw)
        await served.run_jobs()
        await settled(served)
        findings.look_at_prompts(map(Reader, COLLEAGUES))
        look(place, findings)
        findings.look_at_exports()


def look(place: Workplace, findings: Findings) -> None:
    for reader, shown in place.news():
        findings.look(reader, [shown])


@pytest.fixture(scope="module")
def tried_in_chats() -> Iterator[Mapping[str, Tried]]:
    """Count what all companies of this process are tried with; at their end all must have been."""
    tried = {name: Tried(name) for name in ("slack", "teams")}
    yield tried
    assert not [lack for each in tried.values() for lack in each.missing(unseen=UNSEEN)]


@pytest.fixture(params=["slack", "teams"])
def platform(request: pytest.FixtureRequest, tried_in_chats: Mapping[str, Tried]) -> Platform:
    """Return one platform after the other; its server is a double."""
    tried = tried_in_chats[request.param]
    if request.param == "slack":
        slack: FakeSlack = request.getfixturevalue("slack")
        return Platform(slack_settings(slack.url), partial(InSlack, slack), SLACK, tried)
    teams: FakeTeams = request.getfixturevalue("teams")
    return Platform(teams_settings(teams.url), partial(InTeams, teams), TEAMS, tried)


@pytest.mark.parametrize("plan", PLANS)
async def test_nothing_shows_to_those_who_may_not_read_it(
    plan: Plan, tmp_path: Path, spans: Spans, platform: Platform
) -> None:
    company = Company(plan.seed, tmp_path / "wiki")
    given = {**platform.settings, **platform.opened, **digests_now()}
    async with serving(company, tmp_path / "data", plan, **given) as served:
        policy = Policy(answers="shadow", reviewers=frozenset({slack_id(EXPERT)}))
        await served.store.policies.set("default", f"slack:{SHADOW}", policy, actor="cli:ops")
        findings = Findings(served, spans, platform.tried)
        await live(served, platform.workplace(served), findings, plan)

    findings.done(plan)


@pytest.mark.mended(id="slack-2")
async def test_by_default_outsiders_are_shown_no_page(tmp_path: Path, platform: Platform) -> None:
    company = Company(SMALL.seed, tmp_path / "wiki")
    async with serving(company, tmp_path / "data", SMALL, **platform.settings) as served:
        place = platform.workplace(served)
        await ask_as_outsiders(place, company)
        refused = [shown.text for _, shown in place.news()]

    assert refused
    assert not any(map(pages_in, refused))


async def ask_as_outsiders(place: Workplace, company: Company) -> None:
    questions = company.questions((GUEST, STRANGER))
    for _ in range(SMALL.cases):
        person, _, text = next(questions)
        await place.ask(person, text, company.draw)
