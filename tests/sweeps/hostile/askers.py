"""People who ask by each platform, and what they are shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import aiohttp

from tests.fakes.chat_app import exchange_of
from tests.fakes.http_server import BEARER, PAGE_VIEW, wait_until
from tests.fakes.openid_provider import ANNA
from tests.fakes.slack.names import HELP
from tests.fakes.slack.people import Member
from tests.fakes.slack.posts import StoredFile
from tests.fakes.slack.visitor import Visitor as SlackVisitor
from tests.fakes.teams import names
from tests.fakes.teams.people import Human
from tests.fakes.teams.visitor import Visitor as TeamsVisitor
from tests.fakes.teams.visitor import answers_to
from tests.sweeps.hostile.combinations import Combination
from tests.sweeps.hostile.company import ADDRESS, Company
from tests.sweeps.hostile.judge import Shown
from tests.sweeps.hostile.surfaces import (
    shown_by_api,
    shown_in_teams,
    shown_on_page,
    shown_on_slack,
)
from tests.sweeps.sizes import PATIENCE_SECONDS

Platform = Literal["web", "REST", "Slack", "Teams"]
_PAUSE_SECONDS = 0.02


class Asker(Protocol):
    """Asks what a combination asks, on one platform."""

    def takes(self, combination: Combination) -> bool:
        """Return whether the platform has what carries the attack."""
        ...

    async def ask(self, combination: Combination) -> str:
        """Ask, and return all that the answer shows."""
        ...

    def shown(self) -> Iterator[Shown]:
        """Yield everything that the platform was given to show since it was asked first."""
        ...


@dataclass
class RestAsker:
    """A program with the admin token that asks for people, of both versions of the API in turn."""

    company: Company
    bodies: list[Mapping[str, Any]] = field(default_factory=list)

    def takes(self, combination: Combination) -> bool:
        return combination.carrier != "attachment"

    async def ask(self, combination: Combination) -> str:
        root = f"/api/v{1 + combination.number % 2}"
        user = {"id": combination.name(200) if combination.carrier == "name" else combination.case}
        asked = {"question": combination.question, "user": user, "show_pipeline": True}
        client = self.company.client
        async with client.post(f"{root}/ask", json=asked, headers=BEARER) as response:
            body = await response.json()
            assert response.status in {200, 504}, body
        self.bodies.append(body)
        answer = await self._polled(f"{root}/interactions/{body['interaction_id']}")
        return str(body) if response.status == 200 else str(answer)

    async def _polled(self, address: str) -> Mapping[str, Any]:
        """Ask for an answer until it is there, as a client does whose question took too long."""
        params = {"show_pipeline": "true"}
        while True:
            async with self.company.client.get(address, params=params, headers=BEARER) as response:
                body: Mapping[str, Any] = await response.json()
                assert response.status in {200, 202}, body
                self.bodies.append(body)
            if response.status == 200:
                return body
            await asyncio.sleep(_PAUSE_SECONDS)

    def shown(self) -> Iterator[Shown]:
        return map(shown_by_api, self.bodies)


@dataclass
class WebAsker:
    """Colleagues in a browser; one who is called so signs in under that name."""

    company: Company
    fragments: list[Shown] = field(default_factory=list)
    _signing_in: asyncio.Lock = field(default_factory=asyncio.Lock)

    def takes(self, combination: Combination) -> bool:
        return combination.carrier != "attachment"

    async def ask(self, combination: Combination) -> str:
        async with self._signed_in(combination) as session:
            conversation = f"00000000-0000-4000-8000-{combination.number:012d}"
            bubble = await _page(
                session, f"/chat/{conversation}", {"question": combination.question}
            )
            path = f"/chat/{conversation}/{exchange_of(bubble)}"
            answer = await _page(session, path)
            while 'class="answer working"' in answer:
                await asyncio.sleep(_PAUSE_SECONDS)
                answer = await _page(session, path)
            why = await _page(session, f"{path}/why")
            whole = await _page(session, f"/c/{conversation}")
        self.fragments += [
            shown_on_page(bubble),
            shown_on_page(answer),
            shown_on_page(why, voice=False),
            shown_on_page(whole, whole=True, voice=False),
        ]
        return answer

    def shown(self) -> Iterator[Shown]:
        return iter(self.fragments)

    @asynccontextmanager
    async def _signed_in(self, combination: Combination) -> AsyncIterator[aiohttp.ClientSession]:
        base = self.company.client.make_url("/")
        jar = aiohttp.CookieJar(unsafe=True, treat_as_secure_origin=base)
        headers = {"Origin": ADDRESS}
        async with aiohttp.ClientSession(base, cookie_jar=jar, headers=headers) as session:
            async with self._signing_in:
                self.company.issuer.who = {
                    **ANNA,
                    "oid": combination.case,
                    "name": combination.name(),
                }
                await _sign_in(session, self.company)
            yield session


async def _sign_in(session: aiohttp.ClientSession, company: Company) -> None:
    async with session.get("/session/oidc", headers=PAGE_VIEW, allow_redirects=False) as left:
        assert left.status == 303, await left.text()
        back = await company.issuer.approve(left.headers["Location"])
    path = back.removeprefix(ADDRESS)
    async with session.get(path, headers=PAGE_VIEW, allow_redirects=False) as returned:
        assert returned.status == 303, await returned.text()


async def _page(
    session: aiohttp.ClientSession, path: str, form: Mapping[str, str] | None = None
) -> str:
    """Get a page or fragment, or send a form as htmx does."""
    if form is None:
        async with session.get(path, headers={"HX-Request": "true"}) as response:
            assert response.status == 200, await response.text()
            return await response.text()
    async with session.post(path, data=form, headers={"HX-Request": "true"}) as response:
        assert response.status == 200, await response.text()
        return await response.text()


@dataclass
class SlackAsker:
    """Members who are called so, with files that are called so; in a channel or alone in turn."""

    company: Company

    def takes(self, combination: Combination) -> bool:
        return True

    async def ask(self, combination: Combination) -> str:
        slack, user = self.company.slack, f"U0CASE{combination.number:04d}"
        name = combination.name() if combination.carrier == "name" else "Alex Asker"
        slack.people[user] = Member(user, name, name, f"{user.lower()}@acme.example")
        asker = SlackVisitor(slack, self.company.client, user)
        public = combination.number % 2 == 0
        channel = HELP if public else asker.direct
        ts = await asker.say(
            channel, combination.question, files=_stored(combination), mention=public
        )
        await wait_until(lambda: slack.answers(channel, ts), seconds=PATIENCE_SECONDS)
        return "\n".join(str(post.payload) for post in slack.answers(channel, ts))

    def shown(self) -> Iterator[Shown]:
        return shown_on_slack(self.company.slack.requests)


def _attached(combination: Combination) -> tuple[str, bytes]:
    """Return the name and content of a file that carries an attack."""
    name = combination.name(40).replace("/", " ").replace("\\", " ")
    return f"{name}.log", f"{combination.question}\n{combination.planted}\n".encode()


def _stored(combination: Combination) -> Sequence[StoredFile]:
    carried = combination.carrier == "attachment"
    return (StoredFile(*_attached(combination)),) if carried else ()


@dataclass
class TeamsAsker:
    """The same in Teams: in a channel or in their chat in turn."""

    company: Company

    def takes(self, combination: Combination) -> bool:
        return True

    async def ask(self, combination: Combination) -> str:
        teams, case = self.company.teams, combination.case
        name = combination.name() if combination.carrier == "name" else "Alex Asker"
        address = f"{case}@acme.example"
        human = Human(f"{case}-object-id", f"29:{case}", name, address, address)
        teams.add(human, names.HELP)
        asker = TeamsVisitor(teams, self.company.client, human.id)
        where = names.HELP if combination.number % 2 == 0 else asker.chat
        carried = combination.carrier == "attachment"
        files = [self.company.files.share(*_attached(combination))] if carried else []
        written = await asker.say(where, combination.question, files=files)
        await wait_until(lambda: answers_to(teams, written), seconds=PATIENCE_SECONDS)
        return "\n".join(str(each.activity) for each in answers_to(teams, written))

    def shown(self) -> Iterator[Shown]:
        return shown_in_teams(self.company.teams.bodies)


ASKERS: Mapping[Platform, Callable[[Company], Asker]] = {
    "web": WebAsker,
    "REST": RestAsker,
    "Slack": SlackAsker,
    "Teams": TeamsAsker,
}
