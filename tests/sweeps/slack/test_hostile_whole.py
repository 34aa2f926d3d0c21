"""Test that attacks in pages, files, messages and model output do not work on Slack."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.fakes.hostile_wiki import SECRET, page_of
from tests.fakes.slack.exchange import Request
from tests.fakes.slack.hostile_text import joined_text, wrong_in
from tests.fakes.slack.server import FakeSlack
from tests.sweeps.hostile.attacks import OWN
from tests.sweeps.sizes import sizes
from tests.sweeps.slack.scenarios import hostile_scenario

pytestmark = pytest.mark.attack


@sizes("attacks", smoke=OWN[::20], whole=OWN)
async def test_nothing_that_an_attacker_wants_works_on_slack(
    attacks: Sequence[str], slack: FakeSlack, tmp_path: Path
) -> None:
    async with hostile_scenario(attacks, slack, tmp_path) as siege:
        await siege.all()
        sent = list(siege.slack.requests)
        obeyed = siege.model.obeyed

    assert wrong_in(sent) == []
    told = joined_text(sent)
    assert SECRET not in told
    answered = {n for n in range(len(attacks)) if page_of(n) in told}
    assert obeyed > len(attacks)
    assert {"chat.postMessage", "views.open"} <= {request.method for request in sent}
    assert len(answered) == len(attacks), "every hostile page was cited, so every one was tried"


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "<!channel>"},
        {"text": "x", "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "<@U1>"}}]},
        {"text": "x", "blocks": [{"type": "image", "image_url": "https://evil.example/x.png"}]},
        {
            "text": "x",
            "blocks": [{"type": "actions", "elements": [{"url": "https://evil.example"}]}],
        },
        {"text": "x", "blocks": [{"type": "markdown", "text": "ask <@U0CEO0000> now"}]},
        {"text": "x", "view": {"blocks": [{"type": "markdown", "text": "https://evil.example"}]}},
        {"text": "x", "attachments": [{"text": "x"}]},
        {"text": "x"},
    ],
)
def test_the_check_sees_what_works(arguments: dict[str, object]) -> None:
    quiet = {} if arguments == {"text": "x"} else {"unfurl_links": False, "unfurl_media": False}
    assert wrong_in([Request("chat.postMessage", {**arguments, **quiet}, 0.0)])
