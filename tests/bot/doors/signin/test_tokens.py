from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.web.auth.id_tokens import SignInRefused, key_id, signing_keys
from tests.oidc import FakeIssuer

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
