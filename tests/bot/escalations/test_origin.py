"""Where a question can be opened, as far as its platform tells in time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from bot.domain.errors import DeliveryFailed
from bot.domain.messages import InteractionId, Message
from bot.escalations.casework import QuestionLinks
from bot.store.database import Store
from tests.builders import message


@dataclass
class Linking:
    """Gives a link, or what else is set."""

    gives: str | None = "https://slack.example/m1"
    error: Exception | None = None
    asked: list[str] = field(default_factory=list)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)

    async def link(self, message: Message) -> str | None:
        self.asked.append(message.id)
        await self.may_answer.wait()
        if self.error is not None:
            raise self.error
        return self.gives


@pytest.fixture
def channel() -> Linking:
    linking = Linking()
    linking.may_answer.set()
    return linking


@pytest.fixture
async def asked(store: Store) -> InteractionId:
    return (await store.work.open(message("hi", platform="slack", channel="C1"), "me")).id


async def test_a_link_is_asked_for_once(
    store: Store, channel: Linking, asked: InteractionId
) -> None:
    origins = QuestionLinks(store.interactions, {"slack": channel})

    assert [await origins.of(asked) for _ in range(2)] == ["https://slack.example/m1"] * 2
    assert channel.asked == ["m1"]


async def test_what_gives_no_link_has_none(store: Store, asked: InteractionId) -> None:
    assert await QuestionLinks(store.interactions, {"teams": Linking()}).of(asked) is None
    assert await QuestionLinks(store.interactions, {}).of(InteractionId("nothing")) is None


@pytest.mark.parametrize("gives", [None, "", "javascript:alert(1)", "http://slack.example"])
async def test_only_a_secure_address_is_a_link(
    store: Store, channel: Linking, asked: InteractionId, gives: str | None
) -> None:
    channel.gives = gives

    assert await QuestionLinks(store.interactions, {"slack": channel}).of(asked) is None


async def test_a_platform_that_fails_is_asked_again_the_next_time(
    store: Store, channel: Linking, asked: InteractionId
) -> None:
    origins = QuestionLinks(store.interactions, {"slack": channel})
    channel.error = DeliveryFailed("Slack is away.")
    assert await origins.of(asked) is None

    channel.error = None
    assert await origins.of(asked) == "https://slack.example/m1"


async def test_a_platform_that_is_slow_holds_up_no_page(
    store: Store, channel: Linking, asked: InteractionId
) -> None:
    channel.may_answer.clear()
    origins = QuestionLinks(store.interactions, {"slack": channel}, patience_seconds=0.01)

    assert await origins.of(asked) is None
