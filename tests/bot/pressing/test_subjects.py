"""Who may act on what, by where they are and who they are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bot.chat.actions import ActingUser, ActionRejected, ActionTargets, interaction_named
from bot.domain.interactions import Interaction, Outcome
from bot.domain.messages import Message, Person
from bot.store.database import Store
from tests.bot.adapters.outcomes import ANSWER, TRACE
from tests.bot.recorded import answered
from tests.builders import message

ASKED = message("vpn?", private=False)
PRIVATE = message("vpn?", private=True)
ASKER = ASKED.author.id
HERE = ASKED.thread.channel


class Knows:
    """Knows colleagues by the reference "colleague", and counts who asks."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def of(self, reference: str, /) -> object | None:
        self.asked.append(reference)
        return object() if reference == "colleague" else None


def _subjects(
    store: Store,
    knows: Knows | None = None,
    *,
    tenant: str = "",
    platform: str = "",
    anywhere: Callable[[Message], bool] = lambda _: False,
) -> ActionTargets:
    return ActionTargets(
        platform=platform or ASKED.thread.platform,
        tenant=tenant or ASKED.thread.tenant,
        interactions=store.interactions,
        colleagues=knows or Knows(),
        anywhere=anywhere,
    )


def _presser(
    person: str = "other", reference: str = "colleague", *, channel: str = HERE, alone: bool = False
) -> ActingUser:
    return ActingUser(Person(person), channel, reference, alone=alone)


async def _kept(store: Store, asked: Message) -> Interaction:
    return await answered(store, asked, Outcome(ANSWER, TRACE))


async def test_its_asker_and_colleagues_act_on_a_question(store: Store) -> None:
    asked, knows = await _kept(store, ASKED), Knows()
    for presser in (_presser(ASKER, "guest"), _presser()):
        assert await _subjects(store, knows).acted_on(asked.id, presser) == asked
    assert knows.asked == ["colleague"]


async def test_who_is_no_colleague_sees_a_question_and_does_not_act_on_it(store: Store) -> None:
    asked, guest = await _kept(store, ASKED), _presser(reference="guest")
    assert await _subjects(store).seen(asked.id, guest) == asked
    with pytest.raises(ActionRejected, match="Only colleagues"):
        await _subjects(store).acted_on(asked.id, guest)


async def test_a_private_question_is_its_askers(store: Store) -> None:
    asked = await _kept(store, PRIVATE)
    assert await _subjects(store).acted_on(asked.id, _presser(ASKER)) == asked
    with pytest.raises(ActionRejected, match="isn't here"):
        await _subjects(store).seen(asked.id, _presser())
    assert not await _subjects(store).may_act(asked.message, _presser())


@pytest.mark.parametrize(
    "presser",
    [
        _presser(channel="elsewhere"),
        _presser(channel="elsewhere", alone=True),
        _presser(ASKER, channel="elsewhere"),
    ],
    ids=["another", "another alone", "the asker among others"],
)
async def test_a_question_is_where_it_was_asked(store: Store, presser: ActingUser) -> None:
    asked = await _kept(store, ASKED)
    with pytest.raises(ActionRejected, match="isn't here"):
        await _subjects(store).seen(asked.id, presser)


async def test_what_somebody_asked_is_theirs_where_they_are_alone(store: Store) -> None:
    asked = await _kept(store, ASKED)
    alone = _presser(ASKER, channel="elsewhere", alone=True)
    assert await _subjects(store).seen(asked.id, alone) == asked


async def test_what_can_be_pressed_anywhere_is_seen_anywhere(store: Store) -> None:
    asked = await _kept(store, ASKED)
    everywhere = _subjects(store, anywhere=lambda _: True)
    assert await everywhere.seen(asked.id, _presser(channel="elsewhere")) == asked


@pytest.mark.parametrize("other", [{"tenant": "other"}, {"platform": "other"}], ids=str)
async def test_nothing_of_others_is_there(store: Store, other: dict[str, str]) -> None:
    asked = await _kept(store, ASKED)
    with pytest.raises(ActionRejected, match="isn't here"):
        await _subjects(
            store, tenant=other.get("tenant", ""), platform=other.get("platform", "")
        ).seen(asked.id, _presser(ASKER, alone=True))


async def test_a_withdrawn_question_is_not_there(store: Store) -> None:
    asked = await _kept(store, ASKED)
    await store.work.cancel(asked.id)
    with pytest.raises(ActionRejected, match="isn't here"):
        await _subjects(store).seen(asked.id, _presser(ASKER))


@pytest.mark.parametrize("value", ["", "x", "0" * 36, "00000000-0000-4000-8000-00000000000G", "\n"])
def test_only_an_id_names_an_interaction(value: str) -> None:
    with pytest.raises(ActionRejected, match="any more"):
        interaction_named(value)
    assert interaction_named(ASKED.interaction_id) == ASKED.interaction_id
