from __future__ import annotations

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.web.auth.issuer import SignInAttempt, attempt_of, new_attempt


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
