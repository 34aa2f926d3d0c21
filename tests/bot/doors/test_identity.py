from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp.test_utils import make_mocked_request

from bot.domain.interactions import Interaction
from bot.domain.messages import Person
from bot.web.auth.cookie_signer import Signer, signing_key
from bot.web.auth.identity import VISITOR_COOKIE, ClaimedUser, Identities
from bot.web.problems import Problem
from tests.bot.server import BEARER, TOKEN, settings_for
from tests.builders import NOON, message

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
