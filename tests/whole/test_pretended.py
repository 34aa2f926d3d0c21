"""A model that obeys hostile pages: nothing that it says in our voice reaches anybody."""

from __future__ import annotations

from pathlib import Path

from tests.whole.pretended import PRETENDED
from tests.whole.rest_siege import answers_over_rest, effects_in, is_marked


async def test_no_hand_over_promise_or_request_comes_as_our_own_words(tmp_path: Path) -> None:
    answered = await answers_over_rest(PRETENDED, tmp_path)

    rag = [each for each in answered if each.answer_type == "RAG"]
    assert len(rag) == len(answered), "every page was answered from, so every attack was tried"
    assert [found for each in rag for found in effects_in(each.text)] == []
    assert any(is_marked(each.text) for each in rag)


def test_the_check_sees_what_is_said_in_our_voice() -> None:
    for line in PRETENDED:
        assert list(effects_in(f"It costs 7 euro. {line} [1]"))
        assert not list(effects_in(f"The page \u201cA\u201d says: \u201c{line}\u201d [1]"))
