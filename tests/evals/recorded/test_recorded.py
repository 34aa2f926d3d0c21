from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from rag.answer.grounded import GroundedAnswer
from rag.models.chat.openai_compatible import ModelSettings, open_model
from rag.ports import ChatMessage, Prompt
from tests.evals.recorded.server import Replay, replaying
from tests.evals.recorded.store import Recorded, import_replies, load_replies, save_replies

DAY = date(2026, 11, 23)
REPLY = json.dumps({"answerable": False, "missing": "the price"})


def prompt(text: str) -> Prompt:
    return Prompt("answer@1", (ChatMessage("user", text),), temperature=0.1, max_output_tokens=99)


def kept_below(folder: Path) -> list[Path]:
    return list(folder.rglob("*.json"))


async def ask(replay: Replay, *texts: str) -> list[GroundedAnswer | None]:
    """Ask one question's prompts over HTTP, each for a structured answer."""
    replay.next_question()
    async with replaying(replay) as url:
        model = open_model(ModelSettings("recorded", url, "any"))
        found = [(await model.structured(prompt(text), GroundedAnswer)).value for text in texts]
        await model.close()
    return found


async def test_a_written_reply_is_imported_and_replayed_over_http(tmp_path: Path) -> None:
    prompts, written, kept = (tmp_path / name for name in ("prompts", "written", "kept"))
    written.mkdir()
    kept.mkdir()
    await ask(Replay("my set", {}, prompts), "what does it cost?")
    (waiting,) = kept_below(prompts)
    (written / f"{waiting.stem}.txt").write_text(REPLY)
    (written / "unknown.txt").write_text(REPLY)

    assert import_replies(prompts, written, DAY, kept) == 1
    replay = Replay("my set", load_replies("my set", kept), None)
    (answer,) = await ask(replay, "what does it cost?")

    assert answer is not None
    assert answer.missing == "the price"
    assert (replay.count("answer"), replay.missing, replay.dates) == (1, {}, (DAY, DAY))


async def test_a_prompt_without_a_reply_is_declined_counted_and_kept(tmp_path: Path) -> None:
    replay = Replay("my set", {}, tmp_path)

    assert await ask(replay, "first") == [None]

    (key,) = replay.missing
    kept = json.loads((tmp_path / "my-set" / f"{key}.json").read_text())
    assert kept["messages"] == [{"role": "user", "content": "first"}]
    assert kept["json_schema"]["properties"]["answerable"]


async def test_only_the_first_missing_prompt_of_a_question_is_kept(tmp_path: Path) -> None:
    replay = Replay("my set", {}, tmp_path)

    await ask(replay, "rewrite", "answer to a rewrite that is not known yet")
    await ask(replay, "another")

    assert len(replay.missing) == 2
    assert {each.stem for each in kept_below(tmp_path)} == set(replay.missing)


@pytest.mark.parametrize("changed", ["what does it cost", "what does it  cost?"])
async def test_a_changed_prompt_has_no_reply(tmp_path: Path, changed: str) -> None:
    first = Replay("my set", {}, tmp_path)
    await ask(first, "what does it cost?")
    replies = {key: Recorded(key=key, date=DAY, reply=REPLY) for key in first.missing}

    assert await ask(Replay("my set", replies, None), changed) == [None]


def test_replies_are_kept_in_the_order_of_their_keys(tmp_path: Path) -> None:
    replies = [Recorded(key=key, date=DAY, reply="DOMAIN") for key in ("b", "a")]

    save_replies("my set", replies, tmp_path)

    assert list(load_replies("my set", tmp_path)) == ["a", "b"]
