"""From message to inquiry."""

from __future__ import annotations

import pytest

from bot.admission import Admission, VouchedDirectory, audience_of
from bot.store import Store
from bot.types import Policy
from rag.types import EVERYONE, Principal, Turn
from tests.bot.recorded import answered
from tests.builders import message

HR = Principal("group:hr")


def test_a_private_thread_may_read_what_its_asker_may() -> None:
    audience = audience_of(message("pay?", principals=frozenset({HR})))

    assert audience.kind == "private"
    assert audience.principals == {HR, EVERYONE}


def test_a_channel_may_read_what_everyone_may_whoever_asks() -> None:
    audience = audience_of(message("pay?", private=False, principals=frozenset({HR})))

    assert audience.kind == "channel"
    assert audience.principals == {EVERYONE}


async def test_an_unknown_person_is_everyone_and_nobody_more() -> None:
    asked = message("pay?", principals=frozenset())

    assert await VouchedDirectory().principals("default", asked.author) == {EVERYONE}


class OnePolicy:
    """Knows the policy of one channel."""

    def __init__(self, channel: str, policy: Policy) -> None:
        self._kept = {("default", channel): policy}

    async def of(self, tenant: str, channel: str) -> Policy | None:
        return self._kept.get((tenant, channel))


IT_ONLY, HR_ONLY, BOTH = frozenset({"IT"}), frozenset({"HR"}), frozenset({"IT", "HR"})


@pytest.mark.parametrize(
    ("everywhere", "own", "allowed"),
    [
        (None, None, None),
        (None, IT_ONLY, IT_ONLY),
        (IT_ONLY, None, IT_ONLY),
        (IT_ONLY, BOTH, IT_ONLY),
        (BOTH, IT_ONLY, IT_ONLY),
        (IT_ONLY, HR_ONLY, frozenset()),
        (IT_ONLY, frozenset(), frozenset()),
        (None, frozenset(), frozenset()),
    ],
)
async def test_a_channel_narrows_what_is_allowed_everywhere_and_never_widens_it(
    store: Store,
    everywhere: frozenset[str] | None,
    own: frozenset[str] | None,
    allowed: frozenset[str] | None,
) -> None:
    policies = OnePolicy("slack:C1", Policy(own))
    admission = Admission(store.interactions, VouchedDirectory(), Policy(everywhere), policies)

    inquiry = await admission.admit(message("pay?", platform="slack", channel="C1"))
    elsewhere = await admission.admit(message("pay?", platform="teams", channel="C1"))

    assert inquiry.policy.spaces == allowed
    assert elsewhere.policy.spaces == everywhere


async def test_a_policy_that_is_set_holds_for_the_next_question(store: Store) -> None:
    admission = Admission(store.interactions, VouchedDirectory(), Policy(), store.policies)
    asked = message("pay?", platform="slack", channel="C1")
    assert (await admission.admit(asked)).policy.spaces is None

    await store.policies.set("default", "slack:C1", Policy(IT_ONLY), actor="cli:anna")

    assert (await admission.admit(asked)).policy.spaces == IT_ONLY


async def test_an_inquiry_carries_what_was_said_before_in_its_thread(store: Store) -> None:
    await answered(store, message("one"), "two")
    later = message("three", message_id="m2")
    await store.work.open(later, "me")
    admission = Admission(store.interactions, VouchedDirectory(), Policy(), store.policies)

    inquiry = await admission.admit(later)

    assert inquiry.message == later
    assert inquiry.history == (Turn("user", "one"), Turn("assistant", "two"))
    assert inquiry.audience.kind == "private"
