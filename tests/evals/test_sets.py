"""Question sets as they are read, the draws from them, and recorded replies to them."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from bot.answering.evaluation.labelled_questions import LabelledQuestion, load_questions
from bot.answering.evaluation.model_trial import Share, drawn
from rag.answer.grounded import GroundedAnswer
from rag.models.chat_model import ModelSettings, open_model
from rag.ports import ChatMessage, Prompt
from tests.evals import sets
from tests.evals.recorded.server import (
    Recorded,
    Replay,
    import_replies,
    load_replies,
    replaying,
    save_replies,
)
from tests.evals.sets import (
    CONTOSO,
    DRAWS,
    HANDBOOK,
    SAMPLE,
    SQUAD,
    public_sets,
    sample,
)
from tests.unit.bot.answering.evaluation.cases import row


def lines(path: Path, *rows: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


def test_the_sample_is_there_and_its_questions_can_be_read(tmp_path: Path) -> None:
    made = sample(tmp_path)

    halves = Counter(row.half for row in load_questions(made.questions))
    assert halves == {None: 120, 1: 30, 2: 30}
    assert all(folder.is_dir() for folder in made.spaces.values())


def test_only_sets_that_are_there_are_measured(tmp_path: Path) -> None:
    assert list(public_sets(tmp_path, tmp_path)) == []


def test_each_page_of_a_pdf_becomes_a_page(tmp_path: Path) -> None:
    source = tmp_path / "contoso_northwind_kb"
    lines(
        source / "answerable.jsonl",
        {
            "id": "1",
            "question": "copay?",
            "answer": "It is $20 for 30% of 2 visits.",
            "citations": [{"doc": "My_Plan.pdf", "page": 2}],
        },
    )
    lines(
        source / "dontknows_audited.jsonl",
        {"id": "2", "question": "x", "tier": "near_miss", "label_audit": "unanswerable"},
        {"id": "3", "question": "y", "tier": "nonsense", "label_audit": "unanswerable"},
        {"id": "4", "question": "z", "tier": "near_miss", "label_audit": "needs_review"},
    )
    (source / "text").mkdir()
    (source / "text" / "My_Plan.txt").write_text(
        "<!-- page 1 -->\n \n<!-- page 2 -->\nThe copay is $20 for a visit.\n"
    )

    (made,) = public_sets(tmp_path, tmp_path / "work")
    questions = load_questions(made.questions)

    assert [path.name for path in made.spaces["CTN"].rglob("*.md")] == ["002.md"]
    assert questions[0].pages == ("My_Plan/002.md",)
    assert questions[0].key_facts == ("$20", "30%")
    assert [(row.id, row.kind) for row in questions[1:]] == [("2", "near_miss"), ("3", "far")]


def test_a_question_is_withheld_from_both_plans_of_its_insurer(tmp_path: Path) -> None:
    source = tmp_path / "contoso_northwind_kb"
    plans = ("Northwind_Plus", "Northwind_Standard")
    cited = [{"doc": f"{plans[0]}.pdf", "page": 1}]
    lines(
        source / "answerable.jsonl",
        {"id": "1", "question": "copay?", "answer": "yes", "citations": cited},
    )
    lines(source / "dontknows_audited.jsonl")
    (source / "text").mkdir()
    for document in (*plans, "Handbook"):
        text = "<!-- page 1 -->\nThe copay is due for a visit.\n"
        (source / "text" / f"{document}.txt").write_text(text)

    (made,) = public_sets(tmp_path, tmp_path / "work")
    (question,) = load_questions(made.questions)

    assert question.gold.relevant == {"Northwind_Plus/001.md"}
    assert question.withheld_pages == {f"{plan}/001.md" for plan in plans}


def test_questions_without_an_answer_keep_the_page_they_are_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sets, "SQUAD_QUESTIONS", 2)
    source = tmp_path / "squad2_dev"
    lines(source / "passages.jsonl", {"id": "Steam#0", "title": "Steam_engine", "text": "Hot."})
    lines(
        source / "questions.jsonl",
        {
            "id": "1",
            "passage_id": "Steam#0",
            "question": "a",
            "answers": ["x", "y"],
            "answerable": True,
        },
        {"id": "2", "passage_id": "Steam#0", "question": "b", "answers": [], "answerable": False},
    )

    (made,) = public_sets(tmp_path, tmp_path / "work")
    by_id = {row.id: row for row in load_questions(made.questions)}

    assert by_id["1"].key_facts == ("x|y",)
    assert by_id["1"].pages == by_id["2"].near_pages == ("Steam-0.md",)
    assert by_id["2"].kind == "near_miss"


def test_a_changed_page_changes_the_fingerprint(tmp_path: Path) -> None:
    source = tmp_path / "kb_18f_handbook"
    (source / "pages").mkdir(parents=True)
    page = source / "pages" / "a.md"
    page.write_text("one")
    (made,) = public_sets(tmp_path, tmp_path / "work")
    before = made.digest()

    page.write_text("two")

    assert made.digest() != before


def test_near_misses_of_equal_length_replace_the_first_ones(tmp_path: Path) -> None:
    source = tmp_path / "kb_18f_handbook"
    (source / "pages").mkdir(parents=True)
    plain = {"question": "x", "pages": ["a.md"]}
    lines(
        source / "questions.jsonl",
        {**plain, "id": "1", "kind": "answerable"},
        {**plain, "id": "2", "kind": "near_miss"},
    )
    lines(
        source / "near_miss_equal_length.jsonl",
        {**plain, "id": "2-L", "kind": "near_miss", "tags": []},
        {**plain, "id": "3-L", "kind": "near_miss", "tags": ["doubtful"]},
    )
    lines(source / "questions_short.jsonl", {**plain, "id": "s", "kind": "far", "tags": ["short"]})

    (made,) = public_sets(tmp_path, tmp_path / "work")

    assert [row.id for row in load_questions(made.questions)] == ["1", "2-L", "s"]


SHARES = (Share("answerable", 10, withheld=4), Share("far", 2), Share(None, 3, short=True))


def rows(count: int) -> list[LabelledQuestion]:
    answerable = [row(f"a{n}") for n in range(count)]
    far = [row(f"f{n}", "far") for n in range(5)]
    return [*answerable, *far, *(row(f"s{n}", "near_miss", tags=["short"]) for n in range(5))]


def test_a_draw_has_as_many_of_each_share_as_was_written_down() -> None:
    asks = drawn(SHARES, rows(30))

    counts = Counter((ask.row.kind, ask.withheld) for ask in asks)
    assert counts == {
        ("answerable", False): 10,
        ("answerable", True): 4,
        ("far", False): 2,
        ("near_miss", False): 3,
    }


def test_what_is_withheld_is_asked_with_its_pages_too() -> None:
    asks = drawn(SHARES, rows(30))

    asked = {ask.row.id for ask in asks if not ask.withheld}
    assert {ask.row.id for ask in asks if ask.withheld} <= asked


def test_one_question_more_changes_a_draw_by_one_at_most() -> None:
    before = {ask.row.id for ask in drawn(SHARES, rows(30))}
    after = {ask.row.id for ask in drawn(SHARES, rows(31))}

    assert len(after - before) <= 1


def test_the_draws_ask_for_seven_hundred_answers_in_all() -> None:
    sizes = {
        name: sum(share.asked + share.withheld for share in shares)
        for name, shares in DRAWS.items()
    }

    assert sizes == {SAMPLE: 170, CONTOSO: 80, SQUAD: 100, HANDBOOK: 350}


DAY = date(2026, 11, 23)
REPLY = json.dumps({"answerable": False, "missing": "the price"})


def recorded_prompt(text: str) -> Prompt:
    return Prompt("answer@1", (ChatMessage("user", text),), temperature=0.1, max_output_tokens=99)


def kept_below(folder: Path) -> list[Path]:
    return list(folder.rglob("*.json"))


async def ask_replay(replay: Replay, *texts: str) -> list[GroundedAnswer | None]:
    """Ask one question's prompts over HTTP, each for a structured answer."""
    replay.next_question()
    async with replaying(replay) as url:
        model = open_model(ModelSettings("recorded", url, "any"))
        found = [
            (await model.structured(recorded_prompt(text), GroundedAnswer)).value for text in texts
        ]
        await model.close()
    return found


async def test_a_written_reply_is_imported_and_replayed_over_http(tmp_path: Path) -> None:
    prompts, written, kept = (tmp_path / name for name in ("prompts", "written", "kept"))
    written.mkdir()
    kept.mkdir()
    await ask_replay(Replay("my set", {}, prompts), "what does it cost?")
    (waiting,) = kept_below(prompts)
    (written / f"{waiting.stem}.txt").write_text(REPLY)
    (written / "unknown.txt").write_text(REPLY)

    assert import_replies(prompts, written, DAY, kept) == 1
    replay = Replay("my set", load_replies("my set", kept), None)
    (answer,) = await ask_replay(replay, "what does it cost?")

    assert answer is not None
    assert answer.missing == "the price"
    assert (replay.count("answer"), replay.missing, replay.dates) == (1, {}, (DAY, DAY))


async def test_a_prompt_without_a_reply_is_declined_counted_and_kept(tmp_path: Path) -> None:
    replay = Replay("my set", {}, tmp_path)

    assert await ask_replay(replay, "first") == [None]

    (key,) = replay.missing
    kept = json.loads((tmp_path / "my-set" / f"{key}.json").read_text())
    assert kept["messages"] == [{"role": "user", "content": "first"}]
    assert kept["json_schema"]["properties"]["answerable"]


async def test_only_the_first_missing_prompt_of_a_question_is_kept(tmp_path: Path) -> None:
    replay = Replay("my set", {}, tmp_path)

    await ask_replay(replay, "rewrite", "answer to a rewrite that is not known yet")
    await ask_replay(replay, "another")

    assert len(replay.missing) == 2
    assert {each.stem for each in kept_below(tmp_path)} == set(replay.missing)


@pytest.mark.parametrize("changed", ["what does it cost", "what does it  cost?"])
async def test_a_changed_prompt_has_no_reply(tmp_path: Path, changed: str) -> None:
    first = Replay("my set", {}, tmp_path)
    await ask_replay(first, "what does it cost?")
    replies = {key: Recorded(key=key, date=DAY, reply=REPLY) for key in first.missing}

    assert await ask_replay(Replay("my set", replies, None), changed) == [None]


def test_replies_are_kept_in_the_order_of_their_keys(tmp_path: Path) -> None:
    replies = [Recorded(key=key, date=DAY, reply="DOMAIN") for key in ("b", "a")]

    save_replies("my set", replies, tmp_path)

    assert list(load_replies("my set", tmp_path)) == ["a", "b"]
