"""Tests of who is asking: identities, signed cookies and demo personas."""

from __future__ import annotations

import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer, make_mocked_request
from aiohttp.typedefs import Handler
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.errors import SettingInvalid
from bot.domain.interactions import Interaction
from bot.domain.messages import Person
from bot.domain.users import SignedIn
from bot.store.database import Store
from bot.web.auth.identity import (
    DIRECTORY,
    IDENTITIES,
    KEY_BYTES,
    SIGNED_IN,
    VISITOR_COOKIE,
    ClaimedUser,
    Identities,
    Signer,
    principals_of,
    secrets_match,
    signing_key,
)
from bot.web.problems import Problem
from rag.types import EVERYONE, Principal
from tests.fakes.builders import NOON, message
from tests.fakes.http_server import BEARER, PAGE_VIEW, TOKEN, Client, serving, settings_for

pytestmark = pytest.mark.attack

KEY = b"k" * KEY_BYTES


@given(st.text(min_size=1))
def test_what_was_signed_is_read_back(value: str) -> None:
    signer = Signer(KEY, "visitor")

    assert signer.read(signer.sign(value)) == value


@given(st.text())
def test_what_was_not_signed_is_not_read(forged: str) -> None:
    assert Signer(KEY, "visitor").read(forged) is None


def test_another_value_purpose_or_key_does_not_fit_the_mark() -> None:
    signed = Signer(KEY, "visitor").sign("anna")

    assert Signer(KEY, "visitor").read(signed.replace("anna", "ben")) is None
    assert Signer(KEY, "session").read(signed) is None
    assert Signer(b"x" * KEY_BYTES, "visitor").read(signed) is None
    assert Signer(KEY, "visitor").read(signed[:-1]) is None


def test_the_key_is_made_once_and_only_we_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "cookie.key"

    key = signing_key(path)

    assert len(key) == KEY_BYTES
    assert signing_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["cookie.key"]


def test_a_share_without_hard_links_holds_a_key_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    path = tmp_path / "cookie.key"

    key = signing_key(path)

    assert len(key) == KEY_BYTES
    assert signing_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["cookie.key"]


def test_processes_that_start_together_get_the_same_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(signing_key, [tmp_path / "cookie.key"] * 16))

    assert len(keys) == 1


def test_a_file_that_is_no_key_is_refused_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "cookie.key").write_bytes(b"short")

    with pytest.raises(SettingInvalid, match=r"has 5 bytes.*Delete it"):
        signing_key(tmp_path / "cookie.key")


@given(st.text(), st.text())
def test_secrets_are_the_same_only_when_equal(one: str, other: str) -> None:
    assert secrets_match(one, one)
    assert secrets_match(one, other) == (one == other)


def test_a_key_that_is_a_folder_is_refused_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "cookie.key").mkdir()

    with pytest.raises(SettingInvalid, match="move what is there away"):
        signing_key(tmp_path / "cookie.key")


ANNA = ClaimedUser("anna", "anna@acme.example", frozenset({"hr", "it"}))


def identities(tmp_path: Path, **changes: object) -> Identities:
    return Identities(settings_for(tmp_path, admin_token=TOKEN, **changes))


def cookie(tmp_path: Path, visitor: str) -> dict[str, str]:
    signed = Signer(signing_key(tmp_path / "cookie.key"), "visitor").sign(visitor)
    return {"Cookie": f"{VISITOR_COOKIE}={signed}"}


def asked_by(author: str) -> Interaction:
    asked = message("hi", platform="rest")
    return Interaction(asked.interaction_id, replace(asked, author=Person(author)), "working", NOON)


def test_without_a_claim_one_may_read_what_everyone_may(tmp_path: Path) -> None:
    known = identities(tmp_path)

    local = known.person(make_mocked_request("GET", "/"), None)
    admin = known.person(make_mocked_request("GET", "/", headers=BEARER), None)
    browser = known.person(make_mocked_request("GET", "/", headers=cookie(tmp_path, "v1")), None)

    assert [person.id for person in (local, admin, browser)] == ["local", "admin", "v1"]
    assert all(person.principals == {"everyone"} for person in (local, admin, browser))
    assert all(person.email is None for person in (local, admin, browser))


def test_a_claim_is_believed_from_admins_only(tmp_path: Path) -> None:
    known = identities(tmp_path)

    with pytest.raises(Problem, match="'anna' is not believed here"):
        known.person(make_mocked_request("GET", "/"), ANNA)
    with pytest.raises(Problem):
        known.person(make_mocked_request("GET", "/", headers=cookie(tmp_path, "anna")), ANNA)

    person = known.person(make_mocked_request("GET", "/", headers=BEARER), ANNA)
    assert person.principals == {"everyone", "user:anna", "group:hr", "group:it"}
    assert person.email == "anna@acme.example"


def test_a_group_named_like_another_principal_is_still_a_group(tmp_path: Path) -> None:
    known = identities(tmp_path, dev_identities=True)

    person = known.person(
        make_mocked_request("GET", "/"), ClaimedUser("a", groups=frozenset({"user:root"}))
    )

    assert person.principals == {"everyone", "user:a", "group:user:root"}


@pytest.mark.parametrize(
    ("author", "headers", "expected"),
    [
        ("local", {}, True),
        ("v1", {}, False),
        ("admin", {}, False),
        ("v1", BEARER, True),
        ("local", {"Authorization": "Bearer x"}, True),
    ],
)
def test_an_interaction_is_for_its_asker_and_for_admins(
    tmp_path: Path, author: str, headers: dict[str, str], *, expected: bool
) -> None:
    request = make_mocked_request("GET", "/", headers=headers)

    assert identities(tmp_path).may_see(request, asked_by(author)) is expected


def test_a_browser_sees_its_own(tmp_path: Path) -> None:
    known = identities(tmp_path)
    request = make_mocked_request("GET", "/", headers=cookie(tmp_path, "v1"))

    assert known.may_see(request, asked_by("v1"))
    assert not known.may_see(request, asked_by("local"))


def test_where_anybody_may_be_anybody_all_is_seen(tmp_path: Path) -> None:
    loopback = identities(tmp_path, dev_identities=True)
    public = identities(tmp_path, dev_identities=True, host="10.1.1.1")
    request = make_mocked_request("GET", "/")

    assert loopback.may_see(request, asked_by("anna"))
    assert not public.may_see(request, asked_by("anna"))


ANN = Person("oidc-1", email="ann@acme.example", principals=frozenset({Principal("group:hr")}))
THERE = Principal("user:confluence:1")


class AccountDirectory:
    """Implements Directory: adds an account to whoever has an address."""

    async def principals(self, tenant: str, person: Person) -> frozenset[Principal]:
        assert tenant == "acme"
        return person.principals | ({THERE} if person.email else frozenset())


@pytest.mark.parametrize("joined", [True, False])
@pytest.mark.parametrize(
    ("person", "known"), [(ANN, {"group:hr", THERE, EVERYONE}), (Person("v"), {EVERYONE})]
)
async def test_the_directory_says_what_is_shown(
    tmp_path: Path, person: Person, known: set[str], *, joined: bool
) -> None:
    @web.middleware
    async def sign_in(request: web.Request, handler: Handler) -> web.StreamResponse:
        request[SIGNED_IN] = SignedIn("oidc", "expert", person)
        return await handler(request)

    async def show(request: web.Request) -> web.Response:
        return web.json_response(sorted(await principals_of(request, "acme")))

    app = web.Application(middlewares=[sign_in])
    app[IDENTITIES] = Identities(settings_for(tmp_path))
    if joined:
        app[DIRECTORY] = AccountDirectory()
    app.router.add_get("/", show)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        told = set(await (await client.get("/")).json())

    assert told == (known if joined else known - {THERE})


SLACK = {"slack_bot_token": "xoxb-1", "slack_signing_secret": "s"}
OIDC = {
    "oidc_issuer": "https://id.example",
    "oidc_client_id": "desk",
    "public_url": "https://desk.example",
}
PUBLIC = {"host": "0.0.0.0"}  # noqa: S104 - the case


async def become(client: Client, persona: str, wanted: str = "/") -> tuple[int, str]:
    response = await client.post(
        "/session/demo",
        data={"persona": persona, "next": wanted},
        headers={"Origin": f"http://127.0.0.1:{client.port}"},
        allow_redirects=False,
    )
    return response.status, response.headers.get("Location", "")


async def seen(client: Client) -> tuple[str, str]:
    """Return who the browser's owner is, and as what."""
    who = await (await client.get("/", headers=PAGE_VIEW)).text()
    return who, await (await client.get("/role")).text()


async def test_one_can_be_somebody_else_and_oneself_again(sample_client: Client) -> None:
    you = await seen(sample_client)
    chosen = {}
    for persona in ("mika", "ines", "tomas"):
        assert await become(sample_client, persona, "/role") == (303, "/role")
        chosen[persona] = await seen(sample_client)
    await become(sample_client, "you")

    assert chosen == {
        "mika": ("demo-mika", "asker"),
        "ines": ("demo-ines", "asker"),
        "tomas": ("demo-tomas", "expert"),
    }
    assert you[0].startswith("visitor-")
    assert you[1] == "admin"
    assert await seen(sample_client) == you


async def test_each_has_a_history_of_their_own(sample_client: Client) -> None:
    await become(sample_client, "ines")
    asked = await (await sample_client.post("/api/v1/ask", json={"question": "hello"})).json()
    address = f"/api/v1/interactions/{asked['interaction_id']}"
    own = (await sample_client.get(address)).status
    others = []
    for persona in ("mika", "tomas", "you"):
        await become(sample_client, persona)
        others.append((await sample_client.get(address)).status)

    assert own == 200
    assert others == [404, 404, 404]


async def test_each_is_answered_from_what_they_read(store: Store, sample_client: Client) -> None:
    readers = {}
    for persona in ("mika", "ines", "tomas"):
        await become(sample_client, persona)
        asked = await (await sample_client.post("/api/v1/ask", json={"question": "hello"})).json()
        kept = await store.interactions.get(asked["interaction_id"])
        assert kept is not None
        readers[persona] = kept.message.author.principals

    assert readers == {
        "mika": {"everyone", "user:mika"},
        "ines": {"everyone", "user:ines", "group:hr-team"},
        "tomas": {"everyone", "user:tomas", "group:it-admins"},
    }


async def test_a_persona_sees_no_more_where_all_are_believed(store: Store, tmp_path: Path) -> None:
    settings = settings_for(tmp_path, dev_identities=True)
    async with serving(store, settings, sample=True) as client:
        asked = await (await client.post("/api/v1/ask", json={"question": "hello"})).json()
        await become(client, "mika")

        address = f"/api/v1/interactions/{asked['interaction_id']}"
        assert (await client.get(address)).status == 404


@pytest.mark.parametrize("persona", ["admin", "", "Mika", "../you"])
async def test_nobody_else_can_be_played(sample_client: Client, persona: str) -> None:
    assert (await become(sample_client, persona))[0] == 422


async def test_choosing_leads_nowhere_else(sample_client: Client) -> None:
    assert await become(sample_client, "mika", "//evil.example") == (303, "/")


async def test_another_site_cannot_choose(sample_client: Client) -> None:
    form = {"persona": "tomas"}
    evil = {"Origin": "https://evil.example"}
    posted = await sample_client.post("/session/demo", data=form, headers=evil)
    got = await sample_client.get("/session/demo", params=form)

    assert (posted.status, got.status) == (403, 405)


async def test_a_forged_choice_is_oneself(sample_client: Client) -> None:
    for forged in ("tomas", "tomas.", "tomas.AAAA", f"tomas.{'A' * 43}"):
        headers = {"Cookie": f"frontdesk_demo={forged}"}
        assert await (await sample_client.get("/role", headers=headers)).text() == "admin"
        assert await (await sample_client.get("/", headers=headers)).text() == "local"


@pytest.mark.parametrize(
    ("changes", "sample"),
    [
        ({}, False),
        (PUBLIC, True),
        (PUBLIC | {"admin_token": TOKEN}, True),
        (SLACK | {"admin_token": TOKEN}, True),
        ({"microsoft_app_id": "app", "admin_token": TOKEN}, True),
        ({"admin_token": TOKEN}, True),
        (OIDC, True),
    ],
    ids=["no sample", "public", "public, token", "slack", "teams", "token", "oidc"],
)
async def test_nowhere_else_is_there_anybody_to_play(
    store: Store, tmp_path: Path, changes: dict[str, object], *, sample: bool
) -> None:
    settings = settings_for(tmp_path, **changes)
    async with serving(store, settings, sample=sample) as client:
        signed = Signer(signing_key(tmp_path / "cookie.key"), "demo").sign("tomas")
        headers = {"Cookie": f"frontdesk_demo={signed}"}
        chosen = (await become(client, "tomas"))[0]
        role = await (await client.get("/role", headers=headers)).text()
        who = await (await client.get("/", headers=headers)).text()

    assert chosen in {401, 403, 404}
    assert role != "expert"
    assert "demo-" not in who
