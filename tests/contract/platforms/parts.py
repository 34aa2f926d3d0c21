"""Answers made of parts: each kind on every platform, and what is hard to show of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.domain.interactions import Reply
from rag.parts import (
    CitedText,
    Code,
    Item,
    ItemList,
    Omission,
    Part,
    Quotation,
    Table,
    paragraph,
    parts_text,
)
from tests.contract.platforms.driver import Question
from tests.contract.platforms.scenario import Scenario, Words
from tests.fakes.desk import ANSWER

MENTIONS = "<@U1> <at>x</at> <!here> <script>alert(1)</script>"
HEBREW = "\u05e4\u05ea\u05d7 \u05d0\u05ea VPN"
SCRIPT = "a = `x` ``` <script>\n  b <@U1>"


def answer(*parts: Part) -> Reply:
    """Return an answer of these parts, as it is recorded."""
    return replace(ANSWER, text=parts_text(parts), parts=parts)


def steps(*texts: str, start: int = 1) -> ItemList:
    items = tuple(Item(CitedText(text, (1,))) for text in texts)
    return ItemList(items, ordered=True, start=start)


@dataclass(frozen=True)
class ShowsParts:
    """The words of an answer are read, and some parts are shown as ``kinds`` of their own."""

    shown: tuple[Words, ...]
    kinds: frozenset[str] = frozenset()

    async def __call__(self, scene: Scenario) -> None:
        question = Question("how?")
        await scene.ask(question)
        await scene.expect_shown(question, self.shown)
        found = await scene.platform.kinds(question)
        scene.expect(found >= self.kinds, f"of {sorted(self.kinds)} there are {sorted(found)}")


NESTED = ItemList(
    (
        Item(CitedText("Open it:", (1,)), (ItemList((Item(CitedText("the left one")),)),)),
        Item(CitedText("Press it.", (1,))),
    ),
    ordered=True,
    start=3,
)
PORTS = Table(("Port", "Use"), (("443", "VPN"), ("", "SSH")), (1,))

PARTS: tuple[tuple[str, Reply, ShowsParts], ...] = (
    (
        "a paragraph with its source",
        answer(paragraph("Restart it.", (1,))),
        ShowsParts(("Restart it.", "[1]")),
    ),
    (
        "steps",
        answer(steps("Open it.", "Press it.", start=3)),
        ShowsParts(("Open it.", "Press it."), frozenset({"list"})),
    ),
    (
        "a step with a nested list",
        answer(NESTED),
        ShowsParts(("Open it:", "the left one", "Press it."), frozenset({"list"})),
    ),
    (
        "a table, with an empty cell",
        answer(paragraph("See:"), PORTS),
        ShowsParts(("See:", "Port", "443", "SSH"), frozenset({"table"})),
    ),
    (
        "a table without header",
        answer(paragraph("See:"), replace(PORTS, header=())),
        ShowsParts(("See:", "443", "SSH"), frozenset({"table"})),
    ),
    (
        "a long table",
        answer(Table(("No.",), tuple((f"row {n:03}",) for n in range(150)), (1,))),
        ShowsParts(("row 000", "row 149")),
    ),
    (
        "a wide table",
        answer(paragraph("See:"), Table((), (tuple(f"col {n:03}" for n in range(30)),), (1,))),
        ShowsParts(("See:", "col 000", "col 029")),
    ),
    (
        "a cell of 3,000 characters",
        answer(paragraph("See:"), Table(("A", "B"), (("x" * 3_000, "the end"),), (1,))),
        ShowsParts(("See:", "the end"), frozenset({"table"})),
    ),
    (
        "code with backticks and a script",
        answer(paragraph("Run:"), Code(SCRIPT, "sh", (1,))),
        ShowsParts(("Run:", "<script>", "  b <@U1>"), frozenset({"code"})),
    ),
    (
        "a quotation, and what is left out below it",
        answer(Quotation((paragraph("As it says."),), (1,)), Omission("steps", 7, 12)),
        ShowsParts(("As it says.", "steps 7 to 12 on the page"), frozenset({"quotation"})),
    ),
    (
        "writing from right to left",
        answer(steps(HEBREW), Table((HEBREW,), ((HEBREW,),))),
        ShowsParts((), frozenset({"list", "table"})),
    ),
    (
        "what reads like a mention, in every kind of part",
        answer(
            paragraph(MENTIONS), steps(MENTIONS), Table((MENTIONS,), ((MENTIONS,),)), Code(MENTIONS)
        ),
        ShowsParts((), frozenset({"list", "table", "code"})),
    ),
)
"""The name of a case, the answer, and what is then seen of it."""
