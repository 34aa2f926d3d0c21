"""A language model that does whatever an attacker wants of it.

It says the attack in every field of its answer, cites real sentences for it so that the citation
holds, repeats all it was told, and makes of every sentence of the pages a claim.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from aiohttp import web

from tests.rag.models.openai_server import completion

_CASE = re.compile(r"case(\d{3})")
_PASSAGE = re.compile(r"<<passages (\d+) \w+>>\n\(.*\)\n(.*?)\n<</passages \1", re.DOTALL)
_MOST_CLAIMS = 8


class ObeyingModel:
    """Answers for openai_server; a question names its attack as ``case`` and three digits."""

    def __init__(self, attacks: Sequence[str]) -> None:
        self._attacks = attacks
        self.obeyed = 0

    async def __call__(self, _: web.Request, body: dict[str, object]) -> web.StreamResponse:
        messages = body["messages"]
        assert isinstance(messages, list)
        return web.json_response(completion(self._said(str(messages[-1]["content"]))))

    def _said(self, prompt: str) -> str:
        self.obeyed += 1
        named = _CASE.findall(prompt)
        attack = self._attacks[int(named[-1])] if named else "<!channel> https://evil.example"
        passages = _PASSAGE.findall(prompt)
        return self._answer(attack, passages, prompt) if passages else f"{attack} {prompt[-500:]}"

    def _answer(self, attack: str, passages: Sequence[tuple[str, str]], prompt: str) -> str:
        lines = [(int(number), line) for number, text in passages for line in _lines(text)]
        number, quote = lines[0]
        claims = [
            _claim(f"{quote} {attack}", number, quote),
            _claim(attack, number, quote),
            _claim(prompt[-300:], number, quote),
            *(_claim(line, of, line) for of, line in lines),
        ]
        whole = {
            "answerable": True,
            "reading": attack,
            "claims": claims[:_MOST_CLAIMS],
            "missing": attack,
            "certainty": "high",
        }
        return json.dumps(whole)


def _claim(text: str, number: int, quote: str) -> dict[str, object]:
    return {"text": text, "sources": [{"id": number, "quote": quote}]}


def _lines(passage: str) -> list[str]:
    return [line for line in passage.splitlines() if len(line) > 20] or [passage]
