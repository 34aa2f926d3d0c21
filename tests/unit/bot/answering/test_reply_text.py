"""Tests of answers as a colleague reads them, and of asking back instead of guessing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from bot.answering.escalation_reply import clarify
from bot.answering.reply_text import (
    MISSING_INTRO,
    PEOPLE_INTRO,
    UNSURE_INTRO,
    found_passages,
    framed_parts,
    refusal_of,
    reply_of,
    suggestions_of,
    without_missing,
)
from bot.domain.interactions import Clarification, Reply
from rag.parts import Code, ItemList, Omission, Quotation, Table, Translation, paragraph
from rag.pipeline import Retrieval
from rag.types import ANSWER_SOURCE, Answer, Citation, Claim, Passage
from tests.fakes.builders import NOON, chunk, passage

VPN = passage(chunk("Open the client.\nError 809 means the port is blocked."), fused=0.8)
PORTS = passage(
    chunk("| Port | Use |\n|---|---|\n| 443 | VPN |", chunk_id="c2", page_id="ports.md"), fused=0.4
)


def claim(text: str, *chunk_ids: str) -> Claim:
    return Claim((paragraph(text),), tuple(Citation(chunk_id, text) for chunk_id in chunk_ids))


def answer(composer: str, *claims: Claim, reading: str | None = None) -> Answer:
    return Answer(
        question="what is error 809",
        claims=claims,
        passages=(VPN, PORTS),
        features={},
        composer="extractive" if composer == "extractive" else "model",
        reading=reading,
    )


def test_quotes_are_offered_as_what_was_found_and_marked_once_a_passage() -> None:
    reply = reply_of(
        answer(
            "extractive",
            claim("Open the client.", "c1"),
            claim("Error 809 means the port is blocked.", "c1"),
            replace(claim("| 443 | VPN |", "c2"), blocks=(Table((), (("443", "VPN"),)),)),
        ),
        0.7,
    )

    assert reply.parts == (
        Quotation(
            (paragraph("Open the client."), paragraph("Error 809 means the port is blocked.")), (1,)
        ),
        Quotation((Table((), (("443", "VPN"),)),), (2,)),
    )
    assert reply.text.splitlines() == [
        "From the wiki:",
        "",
        "> Open the client.",
        ">",
        "> Error 809 means the port is blocked. [1]",
        "",
        "> 443 \u00b7 VPN [2]",
    ]
    assert reply.tone == "found"


@pytest.mark.parametrize(("cited", "is_theirs"), [(("c1",), True), (("c1", "c2"), False)])
def test_what_people_answered_is_not_said_to_be_of_the_wiki(
    cited: tuple[str, ...],
    is_theirs: bool,  # noqa: FBT001 - a column
) -> None:
    theirs = replace(VPN, chunk=replace(VPN.chunk, source_type=ANSWER_SOURCE))
    found = answer("extractive", *(claim("443", each) for each in cited))

    reply = reply_of(replace(found, passages=(theirs, PORTS)), 0.7)

    assert reply.text.startswith(PEOPLE_INTRO) == is_theirs


def test_what_is_left_out_is_said_outside_of_the_quotation() -> None:
    cut = replace(claim("Open.", "c1"), omission=Omission("steps", 2, 9))
    reply = reply_of(answer("extractive", cut, claim("Call.", "c1")), 0.7)

    assert reply.parts == (
        Quotation((paragraph("Open."),), (1,)),
        Omission("steps", 2, 9),
        Quotation((paragraph("Call."),), (1,)),
    )
    (said,) = (line for line in reply.text.splitlines() if "steps 2 to 9" in line)
    assert not said.startswith(">")


def test_a_section_in_several_passages_is_one_source_at_its_best_line() -> None:
    rest = passage(chunk("Then call 5500.", chunk_id="c9", ordinal=1), fused=0.0)
    both = Claim(
        (paragraph("All of it."),),
        (Citation("c1", VPN.chunk.text), Citation("c9", "Then call 5500.", 0.9)),
    )
    quoted = Answer("q", (both,), (VPN, rest), {}, "extractive")

    (source,) = reply_of(quoted, 0.7).sources
    assert (source.chunk_id, source.line) == ("c9", "Then call 5500.")


def test_a_models_claims_carry_the_marks_of_all_their_sources() -> None:
    reply = reply_of(answer("model", claim("The port is blocked.", "c2", "c1")), 0.7)

    assert reply.text == "The port is blocked. [1][2]"
    assert [source.chunk_id for source in reply.sources] == ["c2", "c1"]


def test_steps_are_numbered_through_and_stand_one_a_line() -> None:
    note = claim("It takes a minute.", "c1")
    steps = [replace(claim(text, "c1"), kind="step") for text in ("Open it.", "Wait.")]
    last = replace(claim("Sign in.", "c1"), kind="step")

    reply = reply_of(answer("model", *steps, note, last), 0.7)

    first, _, second = reply.parts
    assert isinstance(first, ItemList)
    assert isinstance(second, ItemList)
    assert (first.ordered, first.start, second.start) == (True, 1, 3)
    assert reply.text == (
        "1. Open it. [1]\n2. Wait. [1]\n\nIt takes a minute. [1]\n\n3. Sign in. [1]"
    )


def test_up_to_three_sentences_are_a_paragraph_and_more_a_list() -> None:
    said = [claim(f"Sentence {number}.", "c1") for number in range(4)]

    assert reply_of(answer("model", *said[:3]), 0.7).text.count("\n") == 0
    lines = reply_of(answer("model", *said), 0.7).text.splitlines()
    assert [line[:2] for line in lines] == ["- "] * 4


def test_a_translation_has_no_paragraph_without_words() -> None:
    told = Translation("de", "Im Portal.\n\n  \nOder per Mail.")

    _, _, *lines = framed_parts(Reply("", "answer", parts=(paragraph("x"),), translation=told))

    assert lines == [paragraph("Im Portal."), paragraph("Oder per Mail.")]


def test_tables_and_code_are_parts_with_their_sources() -> None:
    table, code = Table(("Port", "Use"), (("443", "VPN"),)), Code("ls -l")
    rows = replace(claim("", "c2"), kind="table", blocks=(table,))
    run = replace(claim("", "c1"), kind="code", blocks=(code,))

    reply = reply_of(answer("model", rows, run), 0.7)

    assert reply.parts == (replace(table, citations=(1,)), replace(code, citations=(2,)))
    assert reply.text == "Port \u00b7 Use:\n- 443 \u00b7 VPN [1]\n\n```\nls -l\n```\n[2]"


def test_what_is_around_the_parts_is_said_in_the_text_and_left_out_with_it() -> None:
    reply = reply_of(
        replace(answer("model", claim("Yes.", "c1")), missing="the port"), 0.7, "unsure"
    )

    assert reply.text == f"{UNSURE_INTRO}:\n\nYes. [1]\n\n{MISSING_INTRO} the port"
    assert framed_parts(reply, introduced=False)[0] == paragraph("Yes.", (1,))
    assert MISSING_INTRO not in without_missing(reply).text


def test_of_a_record_without_parts_the_missing_part_is_left_out_too() -> None:
    old = Reply(f"Yes. [1]\n\n{MISSING_INTRO} the port", "answer", missing="the port")

    assert without_missing(old).text == "Yes. [1]"


def test_the_reading_of_an_ambiguous_question_is_stated_first() -> None:
    reply = reply_of(answer("model", claim("Yes.", "c1"), reading="the VPN port"), 0.7)

    assert reply.text.startswith("I read your question as: the VPN port\n")


def test_every_source_quotes_its_passage_byte_for_byte() -> None:
    reply = reply_of(answer("extractive", claim("Open the client.", "c1")), 0.7)

    assert all(source.quote in VPN.chunk.text for source in reply.sources)


def test_a_source_says_where_its_page_is_and_how_old() -> None:
    dated = replace(VPN.chunk, space="IT", updated_at=NOON)

    (source,) = suggestions_of([replace(VPN, chunk=dated)])

    assert (source.space, source.updated_at) == ("IT", NOON)


def test_a_source_quotes_the_stretch_that_holds_all_that_is_quoted_of_it() -> None:
    rows = reply_of(
        answer("extractive", claim("| Port | Use |", "c2"), claim("| 443 | VPN |", "c2")), 0.7
    )

    assert rows.sources[0].quote == PORTS.chunk.text


@pytest.mark.mended(id="ux-10")
@pytest.mark.parametrize(
    "written",
    [
        "leave in Austria",
        "I read this as: leave in Austria",
        "I've understood it as leave in Austria",
    ],
)
def test_a_reading_is_introduced_once(written: str) -> None:
    reply = reply_of(answer("model", claim("809", "c1"), reading=written), 0.7)

    assert reply.text.splitlines()[0] == "I read your question as: leave in Austria"


@pytest.mark.mended(id="ux-3")
def test_of_quotes_far_apart_the_one_that_answers_best_is_kept() -> None:
    lines = ("809: UDP is blocked.", "x " * 395, "812: not in the group, and long.")
    far = passage(chunk("\n".join(lines), chunk_id="c3"))
    scored = zip(lines, (0.9, 0.1, 0.5), strict=True)
    claims = (Claim((paragraph(line),), (Citation("c3", line, score),)) for line, score in scored)
    quoted = Answer("q", tuple(claims), (far,), {}, "extractive")

    (source,) = reply_of(quoted, 0.7).sources
    assert source.quote == source.line == lines[0]


def test_relevance_stays_within_zero_and_one() -> None:
    loud = Passage(VPN.chunk, score=7.0, signals={})

    assert suggestions_of([loud])[0].relevance == 1.0


def test_suggestions_are_one_a_page_and_their_excerpts_verbatim() -> None:
    long = passage(chunk("word " * 200, chunk_id="c3", page_id="long.md"))

    suggestions = suggestions_of([VPN, VPN, PORTS, long])

    assert [source.page_id for source in suggestions] == ["vpn.md", "ports.md", "long.md"]
    assert suggestions[2].quote in long.chunk.text
    assert len(suggestions[2].quote) <= 240


@pytest.mark.mended(id="ux-5")
def test_an_excerpt_ends_with_a_row_of_a_table_not_within_it() -> None:
    rows = "".join(f"| iPhone {number} | Mobile phone | 24 months |\n" for number in range(9))
    text = f"Devices.\n\n| Device | Kind | Kept for |\n|---|---|---|\n{rows}"

    (source,) = suggestions_of([passage(chunk(text))])
    assert source.quote.endswith(" |")
    assert source.quote in text


def test_an_excerpt_ends_with_no_number_of_a_step() -> None:
    text = f"Order\n\n1. Choose a laptop{' of ours' * 20}.\n2. {'Then it is sent ' * 9}."

    (source,) = suggestions_of([passage(chunk(text))])

    assert source.quote.endswith("of ours.")


def test_a_refusal_is_a_generic_reply_without_the_models_words() -> None:
    reply = refusal_of(0.2)

    assert (reply.tone, reply.refused, reply.sources) == ("generic", True, ())


def test_passages_are_recorded_without_their_text() -> None:
    (found, _) = found_passages([VPN, PORTS])

    assert found.signals == {"fused": 0.8}
    assert "Error 809" not in repr(found)


MAC = passage(
    chunk(
        "Reset the password of your Mac in settings.",
        chunk_id="a",
        page_id="mac.md",
        title="Mac password",
    ),
    0.8,
)
PAYROLL = passage(
    chunk(
        "To reset the payroll password call payroll.",
        chunk_id="b",
        page_id="pay.md",
        title="Payroll password",
    ),
    0.7,
)
LUNCH = passage(chunk("Lunch is at noon.", chunk_id="c", page_id="lunch.md", title="Lunch"), 0.75)


def asked_back(
    question: str, found: Sequence[Passage], probability: float = 0.4
) -> Clarification | None:
    return clarify(Retrieval(question, tuple(found)), probability)


def test_a_broad_question_about_two_pages_is_asked_back() -> None:
    asked = asked_back("how do I reset my password", [MAC, LUNCH, PAYROLL], 0.4)

    assert asked is not None
    assert asked.options == ("Mac password", "Payroll password")
    assert asked.confidence == 0.4


def test_one_fitting_page_leaves_nothing_to_choose() -> None:
    assert asked_back("how do I reset my password", [MAC, LUNCH], 0.4) is None


def test_a_detailed_question_is_not_asked_back() -> None:
    detailed = "how do I reset my payroll password after the mac update broke touch id"

    assert asked_back(detailed, [MAC, PAYROLL], 0.4) is None


def test_a_page_that_scores_far_below_the_best_is_no_candidate() -> None:
    weak = passage(PAYROLL.chunk, 0.1)

    assert asked_back("how do I reset my password", [MAC, weak], 0.4) is None
    found_by_a_model = replace(LUNCH, score=0.0)
    assert asked_back("how do I reset my password", [found_by_a_model, MAC, weak], 0.4) is None


def test_nothing_found_is_nothing_to_choose() -> None:
    assert asked_back("password", [], 0.0) is None
    assert asked_back("", [MAC, PAYROLL], 0.0) is None
