"""Whatever pages, models and people write, the payload has nothing live that code did not build."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.interactions import Clarification, Escalation, Outcome, Reply, Response, Source
from bot.domain.settings_loading import load_settings
from bot.platforms.slack.channel import connect
from tests.bot.adapters.outcomes import ANSWER, OFFERED, TRACE, VPN, delivery
from tests.bot.adapters.slack.blocks import BLOCK_TYPES
from tests.bot.adapters.slack.clock import unhurried
from tests.bot.adapters.slack.events import SECRET
from tests.bot.adapters.slack.hostility import ATTACKS, found_in
from tests.bot.adapters.slack.questions import HELP, PEOPLE, ROOT, question
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.workspace.names import TOKEN

WORDS = st.lists(
    st.one_of(
        st.sampled_from(ATTACKS),
        st.text(alphabet="<>!@#|&;`[]()\\:/ \n.ab1~*_^-", max_size=12),
        st.sampled_from(["VPN", " ", "\n", "\n\n", "- ", "1. ", "``", "```", "~~~"]),
    ),
    min_size=1,
    max_size=6,
).map("".join)


def hostile(words: str, *, url: str = VPN.url) -> Source:
    return replace(VPN, title=words, section=words[::-1], space=words, url=url, quote=words)


def responses(words: str) -> tuple[Response, ...]:
    page = hostile(words, url=f"https://wiki.example.com/{words}")
    nowhere = hostile(words, url=f"javascript:{words}")
    return (
        Reply(text=words, tone="answer", sources=(page, nowhere), confidence=0.9),
        Reply(text=words, tone="generic"),
        Clarification(text=words, options=(words, words[:70]), suggestions=(page,)),
        replace(OFFERED, text=words, suggestions=(page, nowhere)),
        Escalation(text=words, reason="low_confidence", question=words, suggestions=(nowhere,)),
    )


async def said(words: str, kinds: frozenset[str]) -> list[Mapping[str, object]]:
    """Return the payloads of everything that can be shown of such words."""
    async with FakeSlack(block_types=kinds).serving() as slack:
        channel = connect(
            load_settings(
                _env_file=None,
                slack_bot_token=TOKEN,
                slack_signing_secret=SECRET,
                slack_api_url=slack.url,
                slack_escalation_channel=PEOPLE,
            ),
            caller=unhurried(),
        )
        private = Reply(text=words, tone="answer", sources=(hostile(words),))
        for number, response in enumerate(responses(words)):
            asked = replace(question(id=f"{ROOT[:-1]}{number}"), text=words)
            outcome = Outcome(response, TRACE, private=private, remarks=(words,))
            await channel.deliver(replace(delivery(asked), outcome=outcome))
            await channel.whisper(asked, private)
        return [post.payload for post in slack.posts if post.channel == HELP]


FORMS = (BLOCK_TYPES, BLOCK_TYPES - {"markdown"}, frozenset[str]())


@pytest.mark.parametrize("kinds", FORMS, ids=["rich", "sections", "text"])
@pytest.mark.parametrize("attack", ATTACKS)
async def test_no_attack_is_live_in_any_field_of_any_form(
    attack: str, kinds: frozenset[str]
) -> None:
    for payload in await said(f"VPN {attack} now", kinds):
        assert found_in(payload) == []


@settings(max_examples=40, deadline=None)
@given(WORDS, st.sampled_from(FORMS))
def test_nothing_that_can_be_put_together_is_live(words: str, kinds: frozenset[str]) -> None:
    for payload in asyncio.run(said(words, kinds)):
        assert found_in(payload) == []


@pytest.mark.parametrize(
    ("payload", "finds"),
    [
        ({"text": "<!channel>"}, "!channel"),
        ({"text": "see https://evil.example"}, "https://"),
        ({"text": "a", "blocks": [{"type": "markdown", "text": "<@U1>"}]}, "@U1"),
        ({"text": "a", "blocks": [{"type": "markdown", "text": "![x](evil.example)"}]}, "![x]"),
        ({"text": "a", "blocks": [{"type": "image"}]}, "image"),
    ],
)
def test_the_check_sees_what_is_live(payload: dict[str, object], finds: str) -> None:
    quiet = {"unfurl_links": False, "unfurl_media": False}
    assert found_in({**payload, **quiet})
    assert any(finds in one for one in found_in({**payload, **quiet}))
    assert found_in({"text": ANSWER.text}) == ["unfurled"]
