"""Ask in Slack and Teams in generated companies: nobody is shown too much."""

from __future__ import annotations

from datetime import UTC, datetime
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

PLANS = [*smoke(3, cases=25), *whole(range(200, 204))]
STAFF = frozenset(COLLEAGUES)
SMALL = Plan(5, "embedded", model=False, cases=10)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def digests_now() -> dict[str, object]:
    """Return the settings with which a digest is due today."""
    return {"digest_day": WEEKDAYS[datetime.now(UTC).weekday()], "digest_hour": 0}


async def live(served: Served, place: Workplace, findings: Findings, plan: Plan) -> None:
    """Have people ask, work on cases, get digests, and the company change."""
    company = served.company
    questions = company.questions(place.people)
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


@pytest.mark.parametrize("plan", PLANS)
async def test_nothing_in_slack_shows_to_those_who_may_not_read_it(
    plan: Plan, tmp_path: Path, spans: Spans, slack: FakeSlack
) -> None:
    company = Company(plan.seed, tmp_path / "wiki")
    given = {
        **slack_settings(slack.url),
        "slack_escalation_channel": slack_names.PEOPLE,
        "slack_outsider_spaces": OPEN_SPACES,
        "slack_admins": (slack_id(ADMIN),),
        **digests_now(),
    }
    async with serving(company, tmp_path / "data", plan, **given) as served:
        reviewers = frozenset({slack_id(EXPERT)})
        policy = Policy(answers="shadow", reviewers=reviewers)
        await served.store.policies.set("default", f"slack:{SHADOW}", policy, actor="cli:ops")
        findings = Findings(served, spans)
        await live(served, InSlack(slack, served), findings, plan)

    check(findings)


@pytest.mark.parametrize("plan", PLANS)
async def test_nothing_in_teams_shows_to_those_who_may_not_read_it(
    plan: Plan, tmp_path: Path, spans: Spans, teams: FakeTeams
) -> None:
    company = Company(plan.seed, tmp_path / "wiki")
    given = {
        **teams_settings(teams.url),
        "teams_outsider_spaces": OPEN_SPACES,
        "teams_admins": (teams_id(ADMIN),),
        **digests_now(),
    }
    async with serving(company, tmp_path / "data", plan, **given) as served:
        findings = Findings(served, spans)
        await live(served, InTeams(teams, served), findings, plan)

    check(findings)


@pytest.mark.mended(id="slack-2")
async def test_by_default_outsiders_in_slack_are_shown_no_page(
    tmp_path: Path, slack: FakeSlack
) -> None:
    company = Company(SMALL.seed, tmp_path / "wiki")
    async with serving(company, tmp_path / "data", SMALL, **slack_settings(slack.url)) as served:
        place = InSlack(slack, served)
        await ask_as_outsiders(place, company)
        refused = [shown.text for _, shown in place.news()]

    assert refused
    assert not any(map(pages_in, refused))


@pytest.mark.mended(id="slack-2")
async def test_by_default_outsiders_in_teams_are_shown_no_page(
    tmp_path: Path, teams: FakeTeams
) -> None:
    company = Company(SMALL.seed, tmp_path / "wiki")
    async with serving(company, tmp_path / "data", SMALL, **teams_settings(teams.url)) as served:
        place = InTeams(teams, served)
        await ask_as_outsiders(place, company)
        refused = [shown.text for _, shown in place.news()]

    assert refused
    assert not any(map(pages_in, refused))


async def ask_as_outsiders(place: Workplace, company: Company) -> None:
    questions = company.questions((GUEST, STRANGER))
    for _ in range(SMALL.cases):
        person, _, text = next(questions)
        await place.ask(person, text, company.draw)


def check(findings: Findings) -> None:
    assert not findings.leaks, "\n".join(findings.leaks)
    assert findings.shown[None]
    assert sum(bool(findings.shown.get(name)) for name in COLLEAGUES) > len(COLLEAGUES) / 2
