"""Ask by the API, the web chat and the desk in generated companies: nobody is shown too much."""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from pathlib import Path

import aiohttp
import pytest

from bot.domain.cases import ActDetail, Actor, Case, CaseQuery
from bot.domain.messages import Audience, Inquiry, Person, Stage
from rag.types import EVERYONE, Principal
from tests.fakes.builders import message
from tests.fakes.spans import Spans
from tests.sweeps.permissions.application import Served, serving
from tests.sweeps.permissions.browsing import Colleague, Known, Shown
from tests.sweeps.permissions.company import (
    COLLEAGUES,
    EVERYBODY,
    EXPERT,
    NOBODY,
    PLACES,
    Company,
    MarkedPage,
    Reader,
    address,
    places_in,
)
from tests.sweeps.permissions.findings import Findings
from tests.sweeps.permissions.plans import Plan, smoke, whole
from tests.sweeps.permissions.tried import WHOLE, Tried

pytestmark = pytest.mark.attack
PLANS = [*smoke(1, cases=50), *whole(range(100, 132))]
SMALL = Plan(1, "embedded", model=True, views=40)

_COUNTED = re.compile(r'href="/board/documents/(\w+)">.*?<span>([\d,]+) document', re.DOTALL)
ASKERS_VIEWS = frozenset({"/", "/c", "/cases", "/chat", "/history", "/me", "/pages", "/api"})
BOARD_VIEWS = frozenset(
    f"/board/{name}"
    for name in (
        "answers",
        "corrections",
        "documents",
        "escalations",
        "feedback",
        "gaps",
        "insights",
        "labels",
        "questions",
        "usage",
    )
)


@asynccontextmanager
async def signed_in(served: Served) -> AsyncIterator[Mapping[str, Colleague]]:
    """Sign everybody in, each in a browser of their own."""
    async with AsyncExitStack() as opened:
        people = {}
        for name in COLLEAGUES:
            jar = aiohttp.CookieJar(unsafe=True)
            session = await opened.enter_async_context(aiohttp.ClientSession(cookie_jar=jar))
            people[name] = Colleague(name, served, session)
            await people[name].sign_in()
        yield people


class Life:
    """What happens in a company: people ask, look around, and the company changes."""

    def __init__(
        self, served: Served, people: Mapping[str, Colleague], findings: Findings, plan: Plan
    ) -> None:
        self._served = served
        self._people = people
        self._findings = findings
        self._views = plan.views
        self._draw = served.company.draw
        self._questions = served.company.questions(COLLEAGUES, again=plan.saves_answers)
        self._talks = {name: [str(uuid.uuid4()) for _ in range(3)] for name in COLLEAGUES}
        self.about: set[tuple[str, int]] = set()

    async def ask(self, count: int) -> None:
        for _ in range(count):
            name, page, text = next(self._questions)
            self.about.add((name, page.number))
            await self._ask(self._people[name], page, text)

    async def _ask(self, person: Colleague, page: MarkedPage, text: str) -> None:
        talk = self._draw.choice(self._talks[person.name])
        reader = Reader(person.name, web=True)
        match self._draw.choice(("v1", "v2", "page", "desk")):
            case "page":
                self._findings.look(reader, await person.ask_page(text, talk))
                self._findings.look(reader, await self._pressed(person))
            case "desk":
                await self._ask_in_channel(person, text)
            case version:
                self._findings.look(reader, await person.ask_api(text, talk, version))

    async def _pressed(self, person: Colleague) -> list[Shown]:
        talk, interaction = person.exchanges[-1]
        at = f"/chat/{talk}/{interaction}"
        match self._draw.randrange(4):
            case 0:
                return [await person.post(f"{at}/vote", vote="down")]
            case 1:
                return [await person.post(f"{at}/person")]
            case _:
                return []

    async def _ask_in_channel(self, person: Colleague, text: str) -> None:
        """Ask the desk where everybody reads along; its private addition is the asker's."""
        own = await principals_at_desk(self._served, person.name)
        asked = message(text, platform="slack", private=False, principals=own)
        audience = Audience("channel", frozenset({EVERYONE}))
        outcome = await self._served.parts.desk.handle(Inquiry(asked, (), audience), quiet)
        shown = [Shown("private addition", repr(outcome.private))]
        self._findings.look(Reader(person.name, web=True), shown)
        self._findings.look(EVERYBODY, [Shown("reply", repr(outcome.response))])

    async def work_on_cases(self) -> None:
        """Have the expert claim, see more of, answer and keep what waits for a person."""
        expert = self._people[EXPERT]
        waiting = await self._served.store.escalations.find("default", CaseQuery(), limit=3)
        for case in waiting:
            at = f"/board/escalations/{case.interaction_id}"
            shown = [await expert.post(at, act=act) for act in ("claim", "ask_more")]
            await self._agree(case)
            shown.append(await expert.post(at, act="see_more"))
            self._findings.tried.seen_more += shown[-1].status == HTTPStatus.OK
            acts = ({"act": "reply", "reply": "At the desk."}, {"act": "resolve"})
            shown += [await expert.post(at, **form) for form in acts]
            shown.append(
                Shown(at, await expert.get(f"/board/answers/new?case={case.interaction_id}"))
            )
            self._findings.look(Reader(EXPERT, web=True), shown)

    async def _agree(self, case: Case) -> None:
        """Have the asker of a case agree that who has it sees more of the conversation."""
        cases, asker = self._served.store.escalations, Actor(case.asker_id, "", "asker")
        for step in await cases.steps("default", case.interaction_id):
            if step.step == "ask_more":
                about = ActDetail(about=step.number)
                await cases.act("default", case.interaction_id, "show_more", asker, "", about)

    async def look_around(self) -> None:
        """Have everybody look at everything, and look at what nobody reads."""
        await self._served.run_jobs()
        readers = [Reader(name, web=True) for name in COLLEAGUES]
        self._findings.look_at_prompts(readers)
        for person in self._people.values():
            shown = await person.look_around(self._known(), self._views)
            nobodys = [each for each in shown if each.where == "/metrics"]
            self._findings.look(Reader(person.name, web=True), shown)
            self._findings.look(NOBODY, nobodys)
        await self._compare_counts()
        self._findings.look_at_exports()

    async def _compare_counts(self) -> None:
        """Compare how many pages the expert is told of with what they may read."""
        shown = await self._people[EXPERT].get("/board/documents")
        counted = {space: int(count.replace(",", "")) for space, count in _COUNTED.findall(shown)}
        company, reader = self._served.company, Reader(EXPERT, web=True)
        due = Counter[str]()
        for page in company.pages:
            # A file on a page is a document of its own.
            due[page.space] += company.may_read(reader, page) * (2 if page.attached else 1)
        assert counted == {space: count for space, count in due.items() if count}

    def _known(self) -> Known:
        exchanges = [each for one in self._people.values() for each in one.exchanges]
        pages = [(page.space, page.id) for page in self._served.company.pages]
        return Known(
            self._draw.sample(exchanges, min(3, len(exchanges))), self._draw.sample(pages, 4)
        )

    async def change(self) -> None:
        """Change the company, the index, and what the issuer says at once."""
        company = self._served.company
        self._findings.happened = "; ".join(company.change() for _ in range(3))
        await self._served.index()
        await self._served.let_sessions_age()
        for person in self._people.values():
            await person.be_asked_about()


async def principals_at_desk(served: Served, name: str) -> frozenset[Principal]:
    """Return what somebody is known as who asks the desk itself."""
    mail = address(name)
    groups = (f"group:{each}" for each in served.company.groups_of(name))
    names = {EVERYONE, f"user:{mail}", *groups}
    who = Person(name, email=mail, principals=frozenset(map(Principal, names)))
    return await served.directory.principals("default", who)


async def quiet(_: Stage, __: int = 0) -> None:
    """Report no progress."""


@pytest.fixture(scope="module")
def tried_at_web() -> Iterator[Tried]:
    """Count what all companies of this process are tried with; at their end all must have been."""
    tried = Tried("web")
    yield tried
    assert not tried.missing(BOARD_VIEWS | ASKERS_VIEWS)
    assert tried.seen_more or tried.cases < WHOLE, "an asker agreed, and an expert saw more"


@pytest.mark.mended(id="attack-2")
@pytest.mark.mended(id="attack-3")
@pytest.mark.parametrize("plan", PLANS)
async def test_no_view_shows_what_its_reader_may_not_read(
    plan: Plan, tmp_path: Path, spans: Spans, tried_at_web: Tried
) -> None:
    company = Company(plan.seed, tmp_path / "wiki")
    async with (
        serving(company, tmp_path / "data", plan) as served,
        signed_in(served) as people,
    ):
        findings = Findings(served, spans, tried_at_web)
        life = Life(served, people, findings, plan)
        for number in range(plan.rounds):
            if number:
                await life.change()
            await life.ask(plan.cases // plan.rounds)
            await life.work_on_cases()
            await life.look_around()

    findings.done(plan)


async def test_who_may_read_a_restricted_page_finds_every_mark(tmp_path: Path) -> None:
    """Else it would not be known that the marks can be seen at all."""
    company, found = Company(1, tmp_path / "wiki"), set[str]()
    async with serving(company, tmp_path / "data", SMALL) as served, signed_in(served) as people:
        for person in people.values():
            reader = Reader(person.name, web=True)
            closed = company.readable(reader) - company.readable(EVERYBODY)
            own = await principals_at_desk(served, person.name)
            for page in (each for each in company.pages if each.number in closed):
                asked = message(page.sentence, private=True, principals=own)
                audience = Audience("private", own)
                outcome = await served.parts.desk.handle(Inquiry(asked, (), audience), quiet)
                file = f"what does the {page.topic} file of {page.bait} say?"
                shown = [
                    Shown("reply", repr(outcome.response)),
                    *await person.ask_api(file, str(uuid.uuid4()), "v2"),
                    *await person.look_around(Known(pages=[(page.space, page.id)]), SMALL.views),
                ]
                found |= places_in(" ".join(each.text for each in shown), {page.number})
    assert found == set(PLACES)
