"""Test that attacks in pages, names, files, messages and model output do not work in Teams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.hostile_wiki import SECRET, page_of
from tests.fakes.teams.hostile_text import joined_text, wrong_in, wrong_in_answers
from tests.fakes.teams.server import FakeTeams
from tests.sweeps.hostile.attacks import OWN
from tests.sweeps.sizes import SWEEP
from tests.sweeps.teams.scenarios import hostile_scenario

pytestmark = pytest.mark.attack

_PARTS = 5


@pytest.mark.parametrize(
    "attacks",
    [
        pytest.param(OWN[::19], id="smoke"),
        *(
            pytest.param(OWN[part::_PARTS], id=f"whole-{part}", marks=SWEEP)
            for part in range(_PARTS)
        ),
    ],
)
async def test_nothing_that_an_attacker_wants_works_in_teams(
    attacks: Sequence[str], teams: FakeTeams, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with hostile_scenario(attacks, tmp_path, teams, monkeypatch) as siege:
        await siege.all()
    sent, told = list(teams.bodies), siege.told

    assert wrong_in(sent) == []
    assert wrong_in_answers(told) == []
    assert SECRET not in joined_text([*sent, *told])
    assert siege.model.obeyed > len(attacks)
    answered = {n for n in range(len(attacks)) if page_of(n) in joined_text(sent)}
    assert len(answered) == len(attacks), "every hostile page was cited, so every one was tried"
    tried = Counter(siege.tried)
    assert min(tried[each] for each in ("why", "reply", "decline", "settings")) >= len(attacks)
    assert min(tried[each] for each in ("reason", "feedback", "person")) >= len(attacks)
    assert len(siege.files.requests) >= len(attacks), "every hostile file was read"


def _card(*body: dict[str, Any], **more: object) -> dict[str, Any]:
    shown = {"type": "AdaptiveCard", "version": "1.5", "body": list(body), **more}
    kind = "application/vnd.microsoft.card.adaptive"
    return {"type": "message", "attachments": [{"contentType": kind, "content": shown}]}


def _text(words: str) -> dict[str, Any]:
    return {"type": "TextBlock", "text": words}


@pytest.mark.parametrize(
    "activity",
    [
        {"type": "message", "text": "<at>Everyone</at>"},
        {"type": "message", "text": "`<at>Everyone</at>`"},
        {"type": "message", "text": "[click](https://evil.example)"},
        {"type": "message", "text": "see evil.example"},
        {"type": "message", "text": "![x](https://wiki.example.com/IT/x.png)"},
        {"type": "message", "text": "https://wiki.example.com/IT/x.md"},
        {"type": "message", "text": "x", "textFormat": "xml"},
        {"type": "message", "text": "x", "entities": [{"type": "mention", "text": "x"}]},
        {"type": "message", "text": "x", "suggestedActions": {}},
        {"type": "message", "text": "x", "channelData": {"notification": {"alert": True}}},
        {"type": "message", "attachments": [{"contentType": "image/png", "content": {}}]},
        _card(_text("{{DATE(2026-11-22T12:00:00Z, LONG)}}")),
        _card(_text("[click](https://evil.example)")),
        _card({"type": "TextRun", "text": "{{TIME(2026-11-22T12:00:00Z)}}"}),
        _card({"type": "Image", "url": "https://evil.example/x.png"}),
        _card(actions=[{"type": "Action.OpenUrl", "url": "https://evil.example"}]),
        _card(msteams={"entities": []}),
        _card({"type": "Container", "items": [], "selectAction": {}}),
        _card({"type": "CodeBlock", "fallback": _text("<at>Everyone</at>")}),
    ],
)
def test_the_check_sees_what_works(activity: dict[str, Any]) -> None:
    assert wrong_in([activity])


@pytest.mark.parametrize(
    "answer",
    [
        {"statusCode": 200, "value": "<at>Everyone</at>"},
        {"task": {"type": "message", "value": "see [x](https://evil.example)"}},
        {
            "task": {
                "type": "continue",
                "value": {"url": "https://evil.example", "card": _card()["attachments"][0]},
            }
        },
        {"statusCode": 200, "value": _card(_text("see evil.example"))["attachments"][0]["content"]},
    ],
)
def test_the_check_sees_what_works_in_an_answer(answer: dict[str, Any]) -> None:
    assert wrong_in_answers([answer])
