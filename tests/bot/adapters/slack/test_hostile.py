"""Whatever pages, models and people write, the payload has nothing live that code did not build."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.adapters.slack import connect
from bot.config import load_settings
from bot.rendering.markdown import outside_code
from bot.types import Clarification, Escalation, Outcome, Reply, Response, Source
from tests.bot.adapters.outcomes import ANSWER, OFFERED, TRACE, VPN, delivery
from tests.bot.adapters.slack.blocks import BLOCK_TYPES
from tests.bot.adapters.slack.clock import unhurried
from tests.bot.adapters.slack.events import SECRET
from tests.bot.adapters.slack.questions import HELP, PEOPLE, ROOT, question
from tests.bot.adapters.slack.server import TOKEN, FakeSlack

ATTACKS = (
    "<!channel>",
    "<!here|here>",
    "<!everyone>",
    "<@U0CEO0000>",
    "<!subteam^S0ADMINS0>",
    "<#C0HELP000|help>",
    "<https://evil.example|click>",
    "<https://evil.example/?d=1>",
    "<mailto:evil@evil.example|mail>",
    "<!date^1392734382^{date}^https://evil.example/|x>",
    "https://evil.example/?d=1",
    "HTTPS://EVIL.EXAMPLE",
    "http:\\\\evil.example",
    "evil.example/path?d=1",
    "www.evil.example",
    "![x](https://evil.example/x.png?d=1)",
    "[click](https://evil.example)",
    "[click](<https://evil.example>)",
    "[click][1]\n\n[1]: https://evil.example",
    "[![x](https://evil.example/a)](https://evil.example/b)",
    "<a href='https://evil.example'>x</a>",
    "<img src=https://evil.example/x.png>",
    "&lt;!channel&gt;",
    "&amp;lt;!channel&amp;gt;",
    "<\u200b!channel>",
    "<!\u200bchannel>",
    "\u202e<lennahc!>",
    "`<!channel>`",
    "``` <!channel>",
    "```\n<!channel>\n```",
    "~~~\nhttps://evil.example",
    "`https://evil.example",
    "``https://evil.example``",
    "`` a ` https://evil.example ``",
    "````\n```\nhttps://evil.example\n````",
    "~~~\n```\nhttps://evil.example\n~~~",
    "```\na ``` https://evil.example\n```",
    "> <!channel>",
    ">>> <!here>",
    "a|b>c<!channel>",
    "x>|<https://evil.example|y",
    "\\<!channel\\>",
    "*_~<@U0CEO0000>~_*",
    "javascript:alert(1)",
    "@channel @here @everyone",
)
WORDS = st.lists(
    st.one_of(
        st.sampled_from(ATTACKS),
        st.text(alphabet="<>!@#|&;`[]()\\:/ \n.ab1~*_^-", max_size=12),
        st.sampled_from(["VPN", " ", "\n", "\n\n", "- ", "1. ", "``", "```", "~~~"]),
    ),
    min_size=1,
    max_size=6,
).map("".join)

_TOKEN = re.compile(r"<([^<>]*)>")
_OWN_LINK = re.compile(r"https://wiki\.example\.com/[^|<>\s]*\|[^<>]*")
_BARE = re.compile(r"https?://\w|(?<!@)\bevil\.example(?!\w)", re.IGNORECASE)
"""Mail addresses stay what they are: whom to write to is an answer."""

_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
"""Code as Slack's older notation has it."""

_QUOTE = re.compile(r"^( {0,3}(?:> ?)+)", re.MULTILINE)


def texts(payload: object) -> Iterator[tuple[str, str]]:
    """Yield every text that a payload shows, with the type of what holds it."""
    if isinstance(payload, Mapping):
        kind = str(payload.get("type", ""))
        if isinstance(payload.get("text"), str):
            yield kind, payload["text"]
        if isinstance(payload.get("accessibility_label"), str):
            yield "plain_text", payload["accessibility_label"]
        for value in payload.values():
            yield from texts(value)
    elif isinstance(payload, list):
        for value in payload:
            yield from texts(value)


def live(kind: str, text: str, *, alone: bool) -> list[str]:
    """Return what works in a text that code did not build.

    ``alone``: there are no blocks, so that Slack makes links of addresses in the text itself.
    """
    if kind == "plain_text":
        return re.findall(r"[<>]", text)
    tokens = [token for token in _TOKEN.findall(text) if not _OWN_LINK.fullmatch(token)]
    own = _TOKEN.sub("", text) if kind != "markdown" else text
    brackets = re.findall(r"[<>]", _QUOTE.sub("", own))
    addresses: list[str] = []
    if kind == "markdown":
        outside_code(own, lambda prose: _noted(addresses, prose))
    elif kind == "" and alone:
        _noted(addresses, _CODE.sub(" ", own))
    return [*tokens, *brackets, *addresses]


def _noted(found: list[str], prose: str) -> str:
    found += _live_in(prose)
    return prose


def _live_in(prose: str) -> list[str]:
    images = re.findall(r"!?\[[^\]]*\]\([^)]*\)", prose)
    return [*_BARE.findall(prose), *images, *re.findall(r"^ *\[[^\]]+\]:", prose, re.MULTILINE)]


def found_in(payload: Mapping[str, object]) -> list[str]:
    alone = not payload.get("blocks")
    shown = {"text": payload["text"], "blocks": payload.get("blocks") or []}
    found = [one for kind, text in texts(shown) for one in live(kind, text, alone=alone)]
    found += ["image"] * ('"type": "image"' in json.dumps(shown))
    unfurled = payload.get("unfurl_links") is not False or payload.get("unfurl_media") is not False
    return found + ["unfurled"] * unfurled


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
