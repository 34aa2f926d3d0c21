"""Tests that each audited act is shown in words of the reader's language."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from bot.domain.cases import GROUP_ACTS, Act
from bot.domain.messages import Policy
from bot.domain.record_reports import AuditRecord
from bot.domain.texts import Text, load_catalogue
from bot.domain.users import ROLES
from bot.learning.certificate_watch import suspension_in_words
from bot.learning.gaps import ChosenState
from bot.learning.reviewed_answers import AnswerAct, AnswerState
from bot.learning.shadow_mode import Verdict
from bot.store.database import Store
from bot.web.board.audit_log import ACTS, ActView, act_view
from tests.fakes.board_app import BoardState, state_pages
from tests.fakes.builders import NOON
from tests.fakes.http_server import settings_for

BOT = Path(__file__).parents[5] / "bot"
GERMAN = load_catalogue("de").default
RECORD = AuditRecord(1, NOON, "cli:anna", "pause", "x", "", name="")

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "gap ": get_args(ChosenState),
    "label.": ("accepted", "rejected"),
    "shadow.": get_args(Verdict),
    "answer.": (*get_args(AnswerAct), "publish", "in_review", "expired"),
}
"""What follows the beginning of an act that is made of a value."""


def written_acts() -> Iterator[str]:
    """Yield the acts that the sources put into the audit log."""
    for path in sorted(BOT.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            act = _act_of(node) if isinstance(node, ast.Call) else None
            if act is not None:
                yield from _values(act, tree)


def _act_of(call: ast.Call) -> ast.expr | None:
    """Return the act of a call that writes an entry."""
    match call.func:
        case ast.Name("insert_audit"):
            return call.args[2]
        case ast.Attribute(ast.Name(held) | ast.Attribute(attr=held), "append"):
            return call.args[2] if held.endswith("audits") else None
        case ast.Attribute(attr="_audit") if len(call.args) > 1:
            return call.args[1]
    return None


def _values(act: ast.expr, tree: ast.Module) -> Iterator[str]:
    match act:
        case ast.Constant(str(said)):
            yield said
        case ast.JoinedStr([ast.Constant(str(begun)), ast.FormattedValue()]):
            yield from (f"{begun}{each}" for each in FAMILIES[begun])
        case ast.Name(name):
            yield from _assigned(name, tree)
        case ast.Attribute(attr="act"):
            yield from get_args(Act)
        case _:
            raise AssertionError(f"Name what {ast.unparse(act)} may be.")


def _assigned(name: str, tree: ast.Module) -> Iterator[str]:
    """Yield the texts that a name is given; what is passed on as an argument is found there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and name in {ast.unparse(each) for each in node.targets}:
            chosen = node.value
            given = (chosen.body, chosen.orelse) if isinstance(chosen, ast.IfExp) else (chosen,)
            yield from (str(each.value) for each in given if isinstance(each, ast.Constant))


def shown(act: str, subject: str = "x", detail: str = "") -> ActView:
    view = act_view(replace(RECORD, act=act, subject=subject, detail=detail), {})
    return replace(
        view,
        who=GERMAN.text(view.who),
        act=GERMAN.text(view.act),
        subject=GERMAN.text(view.subject),
        detail=GERMAN.text(view.detail),
    )


@pytest.mark.parametrize("act", sorted({*written_acts(), *GROUP_ACTS}))
def test_each_act_that_is_written_has_a_text(act: str) -> None:
    assert isinstance(ACTS[act], Text)


def test_the_acts_of_all_rooms_are_found() -> None:
    found = {*written_acts()}
    assert {"claim", "set policy", "sign_in", "reindex", "corrections.drop", "withdraw"} <= found
    assert {"forget person", "gap not_ours", "answer.approve", "label.rejected"} <= found


def test_no_text_is_left_of_an_act_that_is_gone() -> None:
    assert set(ACTS) == {*written_acts(), *GROUP_ACTS}


@pytest.mark.parametrize(
    ("act", "detail", "kept"),
    [
        ("reindex", "page https://wiki/1, dry run, mass delete allowed", "https://wiki/1"),
        ("cancel reindex", "all spaces", ""),
        ("cancel reindex", "changes in HR", "HR"),
        ("cancel reindex", "one page of HR", "HR"),
        ("end sessions", "2", "2"),
        ("webhook.replay", "1200", "1.200"),
        ("answers.correct", "3 told", "3"),
        ("answers.correct", "1 noted", "1"),
        ("answers.correct", "2 refused", "2"),
        ("corrections.release", "4", "4"),
        ("label.accepted", "sampled: wrong", ""),
        ("answer.expired", "its date has come", ""),
        ("answer.in_review", "thumbs down", ""),
        *(("answer.approve", state, "") for state in get_args(AnswerState)),
        *(("sign_in", role, "") for role in ROLES if role != "admin"),
    ],
)
def test_a_detail_is_read_in_german(act: str, detail: str, kept: str) -> None:
    assert shown(act, detail=detail).detail != detail
    assert kept in shown(act, detail=detail).detail


@pytest.mark.parametrize("more", ["", " (votes included, as few sampled ones were labelled)"])
def test_why_a_certificate_is_suspended_is_read_in_german(more: str) -> None:
    why = (
        "9 of 40 labelled answers of last week were wrong, more than the 5% of its certificate "
        f"beyond the noise{more}."
    )
    assert isinstance(suspension_in_words(why), Text)
    assert suspension_in_words(why) == why
    assert "certificate" not in shown("certificate.suspend", detail=why).detail


def test_what_people_wrote_or_older_versions_did_stays_as_it_is() -> None:
    assert shown("pause", detail="Moving the wiki.").detail == "Moving the wiki."
    assert shown("old_act", "C1", "dry run").act == "old act"
    assert shown("old_act", "C1", "dry run").detail == "dry run"
    assert shown("webhook.replay", detail="many").detail == "many"
    assert suspension_in_words("by hand") == "by hand"


def test_all_spaces_are_called_so() -> None:
    assert shown("reindex", "all").subject != "all"
    assert shown("upload", "all").subject == "all"


async def test_a_german_page_says_acts_in_german(store: Store, tmp_path: Path) -> None:
    await store.audits.append("default", "tomas", "ask_more", "c-1")
    await store.policies.set("default", "slack:C1", Policy(follow_ups=True), actor="cli:anna")
    settings = settings_for(tmp_path, ui_language="de")
    async with state_pages(store, settings, BoardState()) as client:
        page = await (await client.get("/board/settings")).text()

    assert GERMAN.text(ACTS["ask_more"]) in page
    assert GERMAN.text(ACTS["set policy"]) in page
    assert not {"ask more", "set policy", "when mentioned"} & {*page.split("<td>")}
    stored = await store.audits.newest("default", 2)
    assert [each.act for each in stored] == ["set policy", "ask_more"]
