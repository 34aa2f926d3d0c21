"""Tests of the issuer's client, of sign-in attempts, keys and claims."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.messages import Person
from bot.domain.users import SignedIn
from bot.web.auth.id_tokens import (
    AdmissionRules,
    Claims,
    IssuerUnavailable,
    SignInRefused,
    has_group_overage,
    key_id,
    person_id,
    signed_in_person,
    signing_keys,
    verified_email,
)
from bot.web.auth.issuer import (
    FRESH_SECONDS,
    PAUSE_SECONDS,
    SHORT_PAUSE_SECONDS,
    USABLE_SECONDS,
    ClientRegistration,
    Issuer,
    SignInAttempt,
    attempt_of,
    new_attempt,
)
from tests.fakes.openid_provider import ANNA, CLIENT_ID, TENANT, FakeIssuer
from tests.unit.bot.web.auth.conftest import CALLBACK

pytestmark = pytest.mark.attack


def test_what_is_seen_outside_tells_nothing_of_the_rest() -> None:
    attempt = new_attempt("/")
    parts = [attempt.secret, attempt.state, attempt.nonce, attempt.verifier, attempt.challenge]

    assert len(set(parts)) == 5
    assert all(len(part) == 43 for part in parts)


def test_the_challenge_is_s256_of_the_verifier() -> None:
    attempt = new_attempt("/")
    digest = hashlib.sha256(attempt.verifier.encode()).digest()

    assert attempt.challenge == base64.urlsafe_b64encode(digest).decode().rstrip("=")


@given(st.text(max_size=40))
def test_a_browser_brings_back_what_it_was_given(wanted: str) -> None:
    attempt = new_attempt(wanted)

    assert attempt_of(attempt.cookie()) == attempt


@given(st.text(max_size=60))
def test_what_is_no_attempt_is_none(cookie: str) -> None:
    assert attempt_of(cookie) is None


def test_a_changed_destination_still_leads_nowhere_else() -> None:
    planted = SignInAttempt(new_attempt("/").secret, "//evil.example").cookie()

    read = attempt_of(planted)

    assert read is not None
    assert read.wanted == "/"


@pytest.mark.parametrize("end", ["A", "gA", "_w", "====", "é"])
def test_an_address_that_cannot_be_read_is_no_attempt(end: str) -> None:
    assert attempt_of(f"{'a' * 43}.{end}") is None


def test_two_attempts_have_nothing_in_common() -> None:
    assert new_attempt("/").state != new_attempt("/").state


RSA = {
    "kty": "RSA",
    "n": "sXchDaQebHnPiGvyDOAT4saGEUetSyo9MKLOoWFsueri23bOdgWp4Dy1WlUzewbgBHod5pcM9H95GQRV3JDXb"
    "oIRROSBigeC5yjU1hGzHHyXss8UDprecbAYxknTcQkhslANGRUZmdTOQ5qTRsLAt6BTYuyvVRdhS8exSZEy_c4g",
    "e": "AQAB",
}


@pytest.mark.parametrize(
    "described",
    [
        {**RSA, "use": "enc"},
        {**RSA, "alg": "RS512"},
        {**RSA, "alg": "HS256"},
        {**RSA, "n": "!"},
        {"kty": "oct", "k": "c2VjcmV0LXRoYXQtd2Utd291bGQtc2hhcmU"},
        {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},
        {"kty": "unheard of"},
        {},
        "text",
        None,
    ],
    ids=str,
)
def test_keys_that_must_not_sign_are_left_out(described: object) -> None:
    assert signing_keys({"keys": [described]}) == []


@pytest.mark.parametrize("document", [{}, {"keys": None}, {"keys": {"a": 1}}], ids=str)
def test_a_document_without_keys_has_none(document: dict[str, object]) -> None:
    assert signing_keys(document) == []


def test_the_others_are_kept_with_their_ids() -> None:
    keys = signing_keys({"keys": [{**RSA, "kid": "a"}, {**RSA, "kid": 7}, None]})

    assert [key.id for key in keys] == ["a", None]


@given(st.text(max_size=60))
def test_what_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(SignInRefused):
        key_id(token)


@pytest.mark.parametrize("algorithm", ["none", "HS256"])
def test_a_token_that_anyone_can_sign_is_refused(algorithm: str) -> None:
    with pytest.raises(SignInRefused, match=algorithm):
        key_id(FakeIssuer(algorithm=algorithm).id_token("nonce"))


PLAIN = AdmissionRules("https://id.example")
ENTRA = AdmissionRules(f"https://login.microsoftonline.com/{TENANT}/v2.0")
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)
NAMES = ["sub", "oid", "tid", "name", "email", "email_verified", "groups", "roles", "acct"]


def person(claims: Claims, rules: AdmissionRules = PLAIN) -> Person:
    found = signed_in_person(claims, rules).person
    assert found is not None
    return found


def test_a_colleague_is_known_by_subject_address_and_groups() -> None:
    anna = person({**ANNA, "groups": ["hr-team", "all"]})

    assert anna.name == "Anna Berg"
    assert anna.email == "anna@acme.example"
    assert anna.principals == {
        "everyone",
        "user:pairwise-anna",
        "user:anna@acme.example",
        "group:hr-team",
        "group:all",
    }


def test_in_entra_the_object_id_is_the_subject() -> None:
    anna = person(ANNA, ENTRA)

    assert "user:anna-oid" in anna.principals
    assert anna.id == person({**ANNA, "sub": "another-application"}, ENTRA).id


def test_an_id_is_the_same_at_every_sign_in_and_nobodys_elsewhere() -> None:
    assert person(ANNA).id == person({**ANNA, "name": "Anna Meyer", "email": None}).id
    assert person(ANNA).id != person(ANNA, replace(PLAIN, issuer="https://other.example")).id
    assert person(ANNA).id != person({**ANNA, "sub": "ben"}).id
    assert person_id("ab", "c") != person_id("a", "bc")


@pytest.mark.parametrize(
    ("claims", "email"),
    [
        ({"email": "A@b.example", "email_verified": True}, "a@b.example"),
        ({"email": "a@b.example", "email_verified": "true"}, "a@b.example"),
        ({"email": "a@b.example", "xms_edov": 1}, "a@b.example"),
        ({"email": "a@b.example", "xms_edov": "1"}, "a@b.example"),
        ({"email": "a@b.example"}, None),
        ({"email": "a@b.example", "email_verified": False}, None),
        ({"email": "a@b.example", "email_verified": "false"}, None),
        ({"email": "a@b.example", "email_verified": [True]}, None),
        ({"email": "a@b@c.example", "email_verified": True}, None),
        ({"email": "a b@c.example", "email_verified": True}, None),
        ({"email": ["a@b.example"], "email_verified": True}, None),
        ({"preferred_username": "a@b.example", "email_verified": True}, None),
    ],
    ids=str,
)
def test_an_address_counts_when_it_is_verified(claims: Claims, email: str | None) -> None:
    assert verified_email(claims) == email


def test_an_unverified_address_gives_no_rights() -> None:
    chief = person({"sub": "x", "email": "chief@acme.example"})

    assert chief.email is None
    assert chief.principals == {"everyone", "user:x"}


@pytest.mark.parametrize(
    ("email", "gets_in"),
    [
        ({"email": "a@acme.example", "email_verified": True}, True),
        ({"email": "a@ACME.example", "email_verified": True}, True),
        ({"email": "a@acme.example"}, False),
        ({"email": "a@evil.acme.example", "email_verified": True}, False),
        ({"email": "a@acme.example.evil.example", "email_verified": True}, False),
        ({}, False),
    ],
    ids=str,
)
def test_allowed_domains_are_those_of_verified_addresses(email: Claims, *, gets_in: bool) -> None:
    rules = replace(PLAIN, domains=frozenset({"acme.example"}))

    if gets_in:
        assert signed_in_person({"sub": "a", **email}, rules).role == "asker"
    else:
        with pytest.raises(SignInRefused):
            signed_in_person({"sub": "a", **email}, rules)


def test_an_app_role_is_no_group() -> None:
    anna = person({**ANNA, "roles": ["hr-team"]})

    assert "group:hr-team" not in anna.principals


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"_claim_names": {"groups": "src1"}}, True),
        ({"hasgroups": True}, True),
        ({"groups": ["a"]}, False),
        ({"_claim_names": {"other": "src1"}}, False),
        ({"_claim_names": "groups"}, False),
        ({}, False),
    ],
    ids=str,
)
def test_too_many_groups_are_noticed(claims: Claims, *, expected: bool) -> None:
    assert has_group_overage(claims) is expected


def test_with_too_many_groups_app_roles_alone_count() -> None:
    rules = replace(ENTRA, admin_groups=frozenset({"Desk.Admin", "src1"}))
    overflowing = {**ANNA, "_claim_names": {"groups": "src1"}, "_claim_sources": {"src1": {}}}

    assert signed_in_person(overflowing, rules).role == "asker"
    assert signed_in_person({**overflowing, "roles": ["Desk.Admin"]}, rules).role == "admin"


@given(st.dictionaries(st.sampled_from(NAMES), ANYTHING))
def test_whatever_a_token_says_one_is_an_asker_or_refused(
    claims: dict[str, object],
) -> None:
    rules = replace(PLAIN, admin_groups=frozenset({"the-admins"}))
    try:
        signed_in = signed_in_person(claims, rules)
    except SignInRefused:
        return
    assert isinstance(signed_in, SignedIn)
    assert signed_in.role == "asker"


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def client_of(issuer: FakeIssuer, clock: Clock | None = None, seconds: float = 10) -> Issuer:
    known_as = ClientRegistration(issuer.url, CLIENT_ID, CALLBACK, issuer.secret)
    return Issuer(known_as, timeout_seconds=seconds, clock=clock or Clock())


async def redeem(issuer: FakeIssuer) -> str:
    issuer.redirect_uris.add(CALLBACK)
    attempt, client = new_attempt("/"), client_of(issuer)
    back = await issuer.approve(await client.address(attempt))
    code = back.partition("code=")[2].partition("&")[0]
    return (await client.redeem(code, attempt.verifier)).id_token


async def test_what_is_published_is_asked_for_once_an_hour(issuer: FakeIssuer) -> None:
    clock = Clock()
    client = client_of(issuer, clock)
    for _ in range(3):
        await client.address(new_attempt("/"))
    assert issuer.asked == {"openid-configuration": 1, "keys": 1}

    clock.now += FRESH_SECONDS + 1
    await client.address(new_attempt("/"))
    assert issuer.asked == {"openid-configuration": 2, "keys": 2}


async def test_those_who_come_together_ask_once(issuer: FakeIssuer) -> None:
    client = client_of(issuer)
    await asyncio.gather(*(client.address(new_attempt("/")) for _ in range(20)))

    assert issuer.asked == {"openid-configuration": 1, "keys": 1}


async def test_a_new_key_is_found_at_once(issuer: FakeIssuer) -> None:
    client = client_of(issuer)
    assert (await client.key("first")).id == "first"
    issuer.rotate("second")

    assert (await client.key("second")).id == "second"
    with pytest.raises(SignInRefused):
        await client.key("first")


async def test_an_unknown_key_is_looked_for_once_a_minute(issuer: FakeIssuer) -> None:
    clock = Clock()
    client = client_of(issuer, clock)
    await client.key("first")
    for _ in range(5):
        with pytest.raises(SignInRefused, match="a key that the issuer has not"):
            await client.key("invented")
    assert issuer.asked["keys"] == 2

    clock.now += PAUSE_SECONDS
    with pytest.raises(SignInRefused):
        await client.key("invented")
    assert issuer.asked["keys"] == 3


async def test_a_token_without_a_key_id_means_the_only_key(issuer: FakeIssuer) -> None:
    client = client_of(issuer)

    assert (await client.key(None)).id == "first"


async def test_what_was_published_outlives_an_outage_for_a_day(issuer: FakeIssuer) -> None:
    clock = Clock()
    client = client_of(issuer, clock)
    await client.key("first")
    issuer.troubles["openid-configuration"] = "500"

    clock.now = USABLE_SECONDS - 1
    assert (await client.key("first")).id == "first"
    clock.now = USABLE_SECONDS + PAUSE_SECONDS
    with pytest.raises(IssuerUnavailable):
        await client.key("first")


async def test_an_issuer_that_is_away_is_not_stormed(issuer: FakeIssuer) -> None:
    clock = Clock()
    client = client_of(issuer, clock)
    issuer.troubles["openid-configuration"] = "500"
    for _ in range(5):
        with pytest.raises(IssuerUnavailable):
            await client.address(new_attempt("/"))
    assert issuer.asked["openid-configuration"] == 1

    issuer.troubles.clear()
    clock.now += SHORT_PAUSE_SECONDS
    assert await client.address(new_attempt("/"))


async def test_a_slow_issuer_is_given_up(issuer: FakeIssuer) -> None:
    issuer.troubles["openid-configuration"] = "slow"
    with pytest.raises(IssuerUnavailable, match="TimeoutError"):
        await client_of(issuer, seconds=0.2).address(new_attempt("/"))


async def test_an_issuer_that_is_not_there_is_unavailable() -> None:
    nowhere = FakeIssuer(base="http://127.0.0.1:1")
    with pytest.raises(IssuerUnavailable, match="can't be asked"):
        await client_of(nowhere).address(new_attempt("/"))


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://evil.example"},
        {"issuer": "https://login.microsoftonline.com/{tenantid}/v2.0"},
        {"token_endpoint": "http://evil.example/token"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"jwks_uri": None},
        {"token_endpoint": "https://[evil"},
        {"jwks_uri": 7},
    ],
    ids=str,
)
async def test_an_issuer_that_says_what_it_may_not_is_not_used(
    issuer: FakeIssuer, document: dict[str, object]
) -> None:
    issuer.document = document
    with pytest.raises(IssuerUnavailable):
        await client_of(issuer).address(new_attempt("/"))


@pytest.mark.parametrize(
    "methods", [["client_secret_post"], ["client_secret_basic"], ["client_secret_basic", "none"]]
)
async def test_the_secret_goes_where_it_is_wanted(issuer: FakeIssuer, methods: list[str]) -> None:
    issuer.document["token_endpoint_auth_methods_supported"] = methods

    assert await redeem(issuer)


async def test_a_public_client_has_no_secret(issuer: FakeIssuer) -> None:
    issuer.secret = None

    assert await redeem(issuer)


async def test_a_wrong_secret_is_told_to_the_operator(issuer: FakeIssuer) -> None:
    client = client_of(issuer)
    issuer.secret = "changed"
    with pytest.raises(IssuerUnavailable, match="Check OIDC_CLIENT_ID, OIDC_CLIENT_SECRET"):
        await client.redeem("code", "verifier")


def test_the_secret_is_not_shown() -> None:
    assert "hidden-secret" not in repr(ClientRegistration("i", "c", "r", "hidden-secret"))
