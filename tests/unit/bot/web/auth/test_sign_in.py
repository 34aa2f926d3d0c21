"""Tests of signing in with an issuer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.store.database import Store
from bot.web.auth.code_flow import CodeFlow, code_flow
from bot.web.auth.credentials import PAUSED_TEXT
from bot.web.auth.id_tokens import SignInFailed
from bot.web.auth.issuer import new_attempt
from tests.fakes.http_server import BEARER, PAGE_VIEW, TOKEN, Client, serving, settings_for
from tests.fakes.openid_provider import ANNA, FakeIssuer
from tests.unit.bot.web.auth.conftest import (
    ADDRESS,
    CALLBACK,
    come_back,
    leave,
    role,
    settings_with,
    sign_in,
)

pytestmark = pytest.mark.attack


async def signed_in(flow: CodeFlow, issuer: FakeIssuer) -> str:
    """Return the role of who comes back."""
    attempt = new_attempt("/")
    back = await issuer.approve(await flow.address(attempt))
    query = dict(part.split("=") for part in back.partition("?")[2].split("&"))
    query["iss"] = issuer.url
    return (await flow.finish(attempt, query)).signed_in.role


def flow_with(directory: Path, issuer: FakeIssuer, **changes: object) -> CodeFlow:
    flow = code_flow(settings_with(directory, issuer, **changes))
    assert flow is not None
    return flow


def test_without_an_issuer_there_is_no_flow(tmp_path: Path) -> None:
    assert code_flow(settings_for(tmp_path)) is None


async def test_too_many_groups_are_told_once(tmp_path: Path, issuer: FakeIssuer) -> None:
    issuer.claims = {"_claim_names": {"groups": "src1"}, "roles": ["Desk.Expert"]}
    flow = flow_with(tmp_path, issuer, oidc_expert_groups="Desk.Expert")
    with capture_logs() as lines:
        roles = [await signed_in(flow, issuer) for _ in range(3)]

    assert roles == ["expert"] * 3
    assert [line["event"] for line in lines] == ["signin.groups_left_out"]


async def test_a_rotated_key_signs_people_in_at_once(tmp_path: Path, issuer: FakeIssuer) -> None:
    flow = flow_with(tmp_path, issuer)
    await signed_in(flow, issuer)
    issuer.rotate("second")

    assert await signed_in(flow, issuer) == "asker"


async def test_a_key_not_published_signs_nobody_in(tmp_path: Path, issuer: FakeIssuer) -> None:
    flow = flow_with(tmp_path, issuer)
    await signed_in(flow, issuer)
    issuer.sign_unpublished("second")

    with pytest.raises(SignInFailed, match="a key that the issuer has not"):
        await signed_in(flow, issuer)


async def test_nothing_secret_is_in_an_error(tmp_path: Path, issuer: FakeIssuer) -> None:
    flow = flow_with(tmp_path, issuer)
    attempt = new_attempt("/")
    back = await issuer.approve(await flow.address(attempt))
    code = back.partition("code=")[2].partition("&")[0]
    issuer.claims = {"aud": "another"}
    with pytest.raises(SignInFailed) as failed:
        await flow.finish(attempt, {"code": code, "state": attempt.state})

    said = f"{failed.value} {failed.value.user_message}"
    for secret in (code, attempt.secret, attempt.verifier, attempt.nonce, issuer.secret or ""):
        assert secret not in said


async def acts(store: Store) -> list[tuple[str, str, str]]:
    return [(row.actor, row.act, row.detail) for row in await store.audits.newest("default", 50)]


@pytest.fixture
async def client(store: Store, tmp_path: Path, issuer: FakeIssuer) -> AsyncIterator[Client]:
    """A server whose colleagues sign in with the issuer."""
    async with serving(store, settings_with(tmp_path, issuer)) as opened:
        yield opened


async def test_a_colleague_signs_in_and_goes_on_to_where_they_wanted(
    store: Store, client: Client, issuer: FakeIssuer
) -> None:
    response = await sign_in(client, issuer, "/role?a=1")

    assert (response.status, response.headers["Location"]) == (303, "/role?a=1")
    assert await role(client) == "asker"
    assert (await (await client.get("/", headers=PAGE_VIEW)).text()).startswith("oidc-")
    cookie = response.cookies["frontdesk_session"]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
    assert response.cookies["frontdesk_signin"].value == ""
    assert await acts(store) == []


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"groups": ["g-admins"]}, "admin"),
        ({"roles": ["Desk.Admin"]}, "admin"),
        ({"groups": ["g-experts", "other"]}, "expert"),
        ({"groups": ["g-experts"], "roles": ["Desk.Admin"]}, "admin"),
        ({"groups": ["others"]}, "asker"),
        ({"groups": ["g-admins "]}, "asker"),
        ({"groups": "g-experts"}, "expert"),
        ({"groups": [None, {"a": 1}, 7]}, "asker"),
        ({}, "asker"),
    ],
)
async def test_groups_and_app_roles_say_who_is_more_than_an_asker(
    store: Store, tmp_path: Path, issuer: FakeIssuer, claims: dict[str, object], expected: str
) -> None:
    issuer.claims = claims
    settings = settings_with(
        tmp_path,
        issuer,
        oidc_admin_groups="g-admins, Desk.Admin",
        oidc_expert_groups="g-experts",
    )
    async with serving(store, settings) as client:
        await sign_in(client, issuer)

        assert await role(client) == expected
    audited = [("web:anna@acme.example", "sign_in", expected)] if expected != "asker" else []
    assert await acts(store) == audited


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "of-another-attempt"},
        {"nonce": None},
        {"aud": "another-client"},
        {"aud": ["frontdesk-client", "another"], "azp": "another"},
        {"aud": ["frontdesk-client", "another"]},
        {"azp": "another"},
        {"iss": "https://evil.example"},
        {"exp": 1_600_000_000},
        {"exp": None},
        {"nbf": 4_000_000_000},
        {"iat": 4_000_000_000},
        {"sub": None},
        {"sub": 7},
    ],
    ids=str,
)
async def test_a_token_that_is_not_for_us_now_signs_nobody_in(
    client: Client, issuer: FakeIssuer, claims: dict[str, object]
) -> None:
    issuer.claims = claims
    await refused(client, await sign_in(client, issuer), 403)


@pytest.mark.parametrize("algorithm", ["none", "HS256"])
async def test_a_token_without_the_issuers_signature_signs_nobody_in(
    client: Client, issuer: FakeIssuer, algorithm: str
) -> None:
    issuer.algorithm = algorithm
    await refused(client, await sign_in(client, issuer), 403)


async def test_the_usual_signature_is_taken(client: Client, issuer: FakeIssuer) -> None:
    issuer.algorithm = "RS256"
    assert (await sign_in(client, issuer)).status == 303


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({}, 303),
        ({"tid": "99999999-1111-4222-8333-444455556666"}, 403),
        ({"tid": None}, 403),
        ({"oid": None}, 403),
        ({"acct": 1}, 403),
        ({"acct": 0}, 303),
    ],
    ids=str,
)
async def test_only_members_of_the_configured_tenant_get_in(
    store: Store, tmp_path: Path, claims: dict[str, object], status: int
) -> None:
    async with (
        FakeIssuer(entra=True, claims=claims).serving() as entra,
        serving(store, settings_with(tmp_path, entra)) as client,
    ):
        response = await sign_in(client, entra)

    assert response.status == status


@pytest.mark.parametrize("wanted", ["//evil.example", "https://evil.example", "/\\evil.example"])
async def test_signing_in_leads_not_away(client: Client, issuer: FakeIssuer, wanted: str) -> None:
    assert (await sign_in(client, issuer, wanted)).headers["Location"] == "/"


async def test_another_browsers_attempt_signs_nobody_in(client: Client, issuer: FakeIssuer) -> None:
    attackers = await issuer.approve(await leave(client))
    client.session.cookie_jar.clear()
    await refused(client, await come_back(client, attackers), 400)
    await leave(client)
    await refused(client, await come_back(client, attackers), 400)
    assert issuer.asked["token"] == 0


async def test_an_answer_is_good_for_once(client: Client, issuer: FakeIssuer) -> None:
    back = await issuer.approve(await leave(client))
    attempt = {each.key: each.value for each in client.session.cookie_jar if "signin" in each.key}
    assert (await come_back(client, back)).status == 303
    client.session.cookie_jar.clear()
    assert (await come_back(client, back)).status == 400
    client.session.cookie_jar.update_cookies(attempt, client.make_url("/"))
    await refused(client, await come_back(client, back), 403)


async def test_no_code_of_another_attempt_is_redeemed(client: Client, issuer: FakeIssuer) -> None:
    stolen = (await issuer.approve(await leave(client))).partition("code=")[2].partition("&")[0]
    own = await issuer.approve(await leave(client))
    code = own.partition("code=")[2].partition("&")[0]
    await refused(client, await come_back(client, own.replace(code, stolen)), 403)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("error=access_denied&state={state}", 403),
        ("error=temporarily_unavailable&state={state}", 502),
        ("error=access_denied", 400),
        ("code=x&iss=https://other.example&state={state}", 403),
        ("state={state}", 403),
        ("code=never-given&state={state}", 403),
        ("code=x&state=wrong", 400),
        ("code=x&state=%FF%00", 400),
        ("", 400),
    ],
)
async def test_an_answer_that_is_none_signs_nobody_in(
    client: Client, issuer: FakeIssuer, query: str, status: int
) -> None:
    state = (await leave(client)).partition("state=")[2].partition("&")[0]
    back = f"{CALLBACK}?{query.format(state=state)}"
    await refused(client, await come_back(client, back), status)


@pytest.mark.parametrize("trouble", ["500", "huge", "nonsense", "moved"])
@pytest.mark.parametrize("place", ["openid-configuration", "keys", "token"])
async def test_an_issuer_in_trouble_is_told_kindly(
    client: Client, issuer: FakeIssuer, place: str, trouble: str
) -> None:
    if place == "token":
        back = await issuer.approve(await leave(client))
        issuer.troubles[place] = trouble
        await refused(client, await come_back(client, back), 502)
    else:
        issuer.troubles[place] = trouble
        response = await client.get("/session/oidc", allow_redirects=False)
        expected = 303 if (place, trouble) == ("keys", "nonsense") else 502
        assert response.status == expected
        assert "hunter2" not in await response.text()


async def test_the_page_offers_the_companys_account_first(
    store: Store, tmp_path: Path, issuer: FakeIssuer
) -> None:
    async with serving(store, settings_with(tmp_path, issuer, admin_token=TOKEN)) as client:
        page = await (await client.get("/session?next=/role", headers=PAGE_VIEW)).text()
    async with serving(store, settings_with(tmp_path, issuer)) as client:
        alone = await (await client.get("/session", headers=PAGE_VIEW)).text()

    assert 'href="/session/oidc?next=/role"' in page
    assert page.index("company account") < page.index("Admin token")
    assert "company account" in alone
    assert 'name="token"' not in alone


async def test_a_change_of_who_gets_in_ends_every_session(
    store: Store, tmp_path: Path, issuer: FakeIssuer
) -> None:
    issuer.claims = {"groups": ["g-admins"]}
    before = settings_with(tmp_path, issuer, oidc_admin_groups="g-admins")
    async with serving(store, before) as client:
        session = (await sign_in(client, issuer)).cookies["frontdesk_session"].value
    after = settings_with(tmp_path, issuer, oidc_admin_groups="")
    async with serving(store, after) as client:
        headers = {"Cookie": f"frontdesk_session={session}"}
        assert (await client.get("/role", headers=headers)).status == 401


async def test_a_signed_in_admin_is_not_believed_to_ask_for_others(
    store: Store, tmp_path: Path, issuer: FakeIssuer
) -> None:
    issuer.claims = {"groups": ["g-admins"]}
    settings = settings_with(tmp_path, issuer, oidc_admin_groups="g-admins", admin_token=TOKEN)
    async with serving(store, settings) as client:
        await sign_in(client, issuer)
        asked = {"question": "hello", "user": {"id": "ben"}}
        by_session = await client.post("/api/v1/ask", json=asked)
        by_token = await client.post("/api/v1/ask", json=asked, headers=BEARER)

    assert (by_session.status, by_token.status) == (403, 200)


async def test_an_interaction_is_its_askers_alone(client: Client, issuer: FakeIssuer) -> None:
    await sign_in(client, issuer)
    asked = await (await client.post("/api/v1/ask", json={"question": "hello"})).json()
    address = f"/api/v1/interactions/{asked['interaction_id']}"
    own = await client.get(address)
    client.session.cookie_jar.clear()
    issuer.who = {**ANNA, "sub": "ben"}
    await sign_in(client, issuer)
    others = await client.get(address)

    assert (own.status, others.status) == (200, 404)


@pytest.mark.mended(id="attack-4")
async def test_after_ten_wrong_tokens_only_wrong_ones_are_held_back(
    store: Store, tmp_path: Path, issuer: FakeIssuer
) -> None:
    async with serving(store, settings_with(tmp_path, issuer, admin_token=TOKEN)) as client:
        origin = {"Origin": ADDRESS}
        wrong = [
            (await client.post("/session", data={"token": f"no-{n}"}, headers=origin)).status
            for n in range(5)
        ]
        bad = {"Authorization": "Bearer wrong"}
        wrong += [(await client.get("/role", headers=bad)).status for _ in range(5)]
        held = await client.post("/session", data={"token": "no"}, headers=origin)
        held_json = await client.post("/session", json={"token": "no"})
        api = await client.get("/role", headers=bad)

        assert wrong == [401] * 10
        assert (held.status, held_json.status, api.status) == (429, 429, 429)
        assert 0 < int(held.headers["Retry-After"]) <= 60
        assert PAUSED_TEXT in await held.text()
        assert (await client.get("/role", headers=BEARER)).status == 200
        assert (await client.post("/session", json={"token": TOKEN})).status == 204
        form = await client.post("/session", data={"token": TOKEN}, headers=origin)
        assert await role(client) == "admin"
        assert form.url.path == "/"
        client.session.cookie_jar.clear()
        await sign_in(client, issuer)
        assert await role(client) == "asker"
    rows = [row for row in await acts(store) if row[1] == "wrong_token"]
    assert [row[:2] for row in rows] == [("web:unknown", "wrong_token")] * 10


@pytest.mark.parametrize(("groups", "status"), [([], 403), (["g-experts"], 404)])
async def test_the_metrics_are_not_for_askers(
    store: Store, tmp_path: Path, issuer: FakeIssuer, groups: list[str], status: int
) -> None:
    """They are not mounted here: 404 is what whoever may read them gets."""
    issuer.claims = {"groups": groups}
    settings = settings_with(tmp_path, issuer, oidc_expert_groups="g-experts")
    async with serving(store, settings) as client:
        await sign_in(client, issuer)

        assert (await client.get("/metrics")).status == status


async def test_two_who_come_back_at_once_are_two_sessions(
    store: Store, tmp_path: Path, issuer: FakeIssuer
) -> None:
    settings = settings_with(tmp_path, issuer)
    async with serving(store, settings) as client:
        first = await sign_in(client, issuer)
        client.session.cookie_jar.clear()
        second = await sign_in(client, issuer)
        sessions = [each.cookies["frontdesk_session"].value for each in (first, second)]
        statuses = await asyncio.gather(
            *(
                client.get("/role", headers={"Cookie": f"frontdesk_session={session}"})
                for session in sessions
            )
        )

    assert sessions[0] != sessions[1]
    assert [each.status for each in statuses] == [200, 200]


async def refused(client: Client, response: object, status: int) -> None:
    assert getattr(response, "status", None) == status
    assert "frontdesk_session" not in getattr(response, "cookies", {})
    client.session.cookie_jar.clear()
    assert (await client.get("/role")).status == 401
