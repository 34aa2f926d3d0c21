"""Test what a reply looks like: text, citations, labels and buttons."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.response_view import COMPOSED_NOTE
from bot.domain.errors import SettingInvalid
from bot.domain.interactions import Clarification, Outcome, Reply, Response
from bot.domain.messages import InteractionId, Message, Person, Thread
from bot.domain.settings_loading import load_settings
from bot.platforms.teams.channel import connect
from bot.platforms.teams.rendering.answers import answer_activities, buttons_of
from bot.platforms.teams.rendering.labels import NO_SENSITIVITY, Sensitivity, sensitivity_of
from bot.platforms.teams.rendering.text import ACTIVITY_BUDGET, CONTENT_BUDGET, size
from rag.parts import CitedText, Code, Item, ItemList, Quotation, Table, paragraph
from rag.types import ModelCall
from tests.fakes.costs import costs_in_proportion
from tests.fakes.desk import ANSWER, HANDED_OVER, LOCAL, OFFERED, TRACE, VPN
from tests.fakes.teams.names import APP_ID, ENTRA
from tests.fakes.teams.posts import check_activity

pytestmark = pytest.mark.attack

NOW = datetime(2026, 11, 22, tzinfo=UTC)
MESSAGE = Message(
    id="1",
    thread=Thread("teams", "acme", "19:help@thread.tacv2", "1"),
    author=Person("alice"),
    text="vpn down?",
    received_at=NOW,
)
PRICES = Table(("a", "b"), (("1", "2"),), (1,))
PLANS = Table(("Plan", "Price"), tuple((f"Plan {n}", str(n)) for n in range(200)), (1,))
TABLE = "| Plan | Price |\n|---|--:|\n" + "\n".join(f"| Plan {n} | {n} [1] |" for n in range(50))


def shown(
    response: Response,
    sensitivity: Sensitivity = NO_SENSITIVITY,
    *,
    remarks: tuple[str, ...] = (),
    opening: str = "",
    pressed: bool = True,
) -> list[dict[str, Any]]:
    """Return what is seen of a response: its messages, with the cards that are below them.

    Each is taken by Teams, which makes two messages of words and a card, and edits no such.
    """
    outcome = Outcome(response, TRACE, remarks=remarks)
    activities: Any = answer_activities(
        outcome, MESSAGE, now=NOW, sensitivity=sensitivity, opening=opening, pressed=pressed
    )
    for activity in activities:
        check_activity(activity)
        assert size(activity) <= CONTENT_BUDGET < ACTIVITY_BUDGET
        assert ("text" in activity) != ("attachments" in activity)
    return list(seen(activities))


def seen(activities: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield words with the card that comes below them."""
    words: dict[str, Any] = {}
    for activity in activities:
        if "text" not in activity:
            words["attachments"] = activity["attachments"]
            continue
        if words:
            yield words
        words = dict(activity)
    yield words


def only(response: Response, *, remarks: tuple[str, ...] = ()) -> dict[str, Any]:
    (activity,) = shown(response, remarks=remarks)
    return activity


def card(activity: dict[str, Any]) -> dict[str, Any]:
    (attached,) = activity["attachments"]
    assert attached["contentType"] == "application/vnd.microsoft.card.adaptive"
    assert attached["content"]["version"] == "1.5"
    return dict(attached["content"])


def strings(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield every string in JSON with the name that it stands under."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from strings(each, name)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from strings(each, key)


def test_pages_beyond_the_citations_tell_space_and_age() -> None:
    old = replace(LOCAL, space="HR", updated_at=NOW - timedelta(days=100))
    text = only(replace(ANSWER, tone="found", sources=(VPN, old)))["text"]
    assert text.split("\n\n")[1:] == [
        "**Sources**",
        "- \\[2\\] Offices, HR, updated 3 months ago",
    ]


def test_a_citation_tells_space_and_age() -> None:
    page = replace(VPN, space="Information technology of Acme", updated_at=NOW)
    (citation,) = only(replace(ANSWER, sources=(page,)))["entities"][0]["citation"]
    keywords = citation["appearance"]["keywords"]
    assert keywords == ["Information technology of\u2026", "updated today"]
    assert all(len(word) <= 28 for word in keywords)


def test_a_page_that_is_not_reached_by_https_is_listed_so_that_it_can_be_opened() -> None:
    plain = replace(VPN, url="http://wiki.corp.example/vpn")
    activity = only(replace(ANSWER, sources=(plain,)))
    assert "- \\[1\\] [VPN guide \u203a Reset](http://wiki.corp.example/vpn)" in activity["text"]
    assert "citation" not in activity["entities"][0]


@pytest.mark.mended(id="teams-6")
@pytest.mark.parametrize(
    ("response", "labelled"),
    [
        (ANSWER, True),
        (replace(ANSWER, tone="found"), True),
        (Clarification(text="Which?", options=("A", "B")), False),
        (HANDED_OVER, False),
        (replace(HANDED_OVER, suggestions=()), False),
        (Reply(text="Hello!", tone="generic"), False),
        (Reply(text="No.", tone="answer", refused=True), False),
    ],
)
def test_only_what_a_model_composed_or_the_index_quoted_says_so(
    response: Response, *, labelled: bool
) -> None:
    entities = only(response).get("entities", [])
    made = [entity.get("additionalType") for entity in entities]
    assert made == ([["AIGeneratedContent"]] if labelled else [])


@pytest.mark.mended(id="teams-4")
def test_a_quoted_row_of_a_table_reads_as_words_in_a_citation() -> None:
    page = replace(VPN, quote="| 809 | UDP is blocked | Use a hotspot |")
    (claim,) = only(replace(ANSWER, sources=(page,)))["entities"][0]["citation"]
    assert claim["appearance"]["abstract"] == "809 \u00b7 UDP is blocked \u00b7 Use a hotspot"


def test_small_talk_by_a_model_says_so() -> None:
    call = ModelCall("generic", "m", "generic@1", 1, 1, 1.0)
    outcome = Outcome(Reply(text="Hi!", tone="generic"), replace(TRACE, calls=(call,)))
    (activity,) = answer_activities(outcome, MESSAGE, now=NOW)
    assert "AIGeneratedContent" in json.dumps(activity)


def test_the_most_sensitive_page_marks_every_part() -> None:
    marked = sensitivity_of(("secret=Confidential",))
    page = replace(VPN, labels=("secret",))
    answer = replace(ANSWER, text="Restart. " * 12_000, sources=(page,))
    parts = shown(answer, marked)
    assert len(parts) > 1
    assert [part["entities"][0]["usageInfo"]["name"] for part in parts] == ["Confidential"] * len(
        parts
    )
    (offer,) = shown(replace(HANDED_OVER, suggestions=(page,)), marked)
    assert offer["entities"][0]["usageInfo"]["name"] == "Confidential"


def test_buttons_are_below_the_last_part_and_thumbs_below_the_first() -> None:
    first, *_, last = shown(replace(ANSWER, text="Restart [1]. " * 12_000))
    assert first["channelData"] == {"feedbackLoop": {"type": "default"}}
    assert "attachments" not in first
    assert "channelData" not in last
    assert [each["title"] for each in card(last)["actions"]] == ["Ask a person", "Why this answer"]
    assert "Not what you need?" not in last["text"]


def test_what_a_card_holds_is_marked_as_the_words_are_and_named_where_no_card_is_shown() -> None:
    marked = sensitivity_of(("secret=Confidential",))
    page = replace(VPN, labels=("secret",))
    outcome = Outcome(replace(ANSWER, parts=(PRICES,), sources=(page,)), TRACE)
    words, below = answer_activities(outcome, MESSAGE, now=NOW, sensitivity=marked)
    assert below["summary"] == "Table 1"
    for activity in (words, below):
        assert "AIGeneratedContent" in json.dumps(activity)
        assert "Confidential" in json.dumps(activity)
    assert "citation" not in json.dumps(below), "Teams resolves marks in words alone"
    (_, buttons) = answer_activities(Outcome(ANSWER, TRACE), MESSAGE, now=NOW)
    assert buttons["summary"] == "Ask a person, Why this answer"
    assert not buttons.keys() & {"entities", "channelData", "text"}


def test_what_is_told_in_private_can_be_neither_pressed_nor_judged() -> None:
    (activity,) = shown(ANSWER, pressed=False, opening="> vpn down?")
    assert activity["text"].startswith("> vpn down?\n\nRestart")
    assert not activity.keys() & {"attachments", "channelData"}


def test_remarks_stand_below_as_plain_text() -> None:
    quoted = replace(ANSWER, tone="found")
    activity = only(quoted, remarks=("I did not read *a*.png: see evil.example.",))
    assert activity["text"].endswith("I did not read \\*a\\*.png: see `evil.example`.")


def test_tables_and_code_hang_below_where_the_text_names_them() -> None:
    code = Code("print(x[2])", "python")
    parts = (paragraph("First", (1,)), PRICES, paragraph("Then:"), code, paragraph("Done."))
    activity = only(replace(ANSWER, parts=parts))
    assert activity["text"] == (
        "First [1]\n\n_Table 1, below_: a \u00b7 b\n\n[1]\n\nThen:\n\n_Code 1, below_\n\nDone."
        f"\n\n{COMPOSED_NOTE}"
    )
    body = card(activity)["body"]
    assert [each["type"] for each in body] == ["TextBlock", "Table", "TextBlock", "CodeBlock"]
    assert [body[0]["text"], body[2]["text"]] == ["Table 1", "Code 1"]
    assert body[3]["codeSnippet"] == "print(x[2])"


def test_a_page_cited_only_in_a_table_is_still_a_citation() -> None:
    activity = only(replace(ANSWER, parts=(PRICES,)))
    assert [each["position"] for each in activity["entities"][0]["citation"]] == [1]
    assert activity["text"].startswith("_Table 1, below_: a \u00b7 b\n\n[1]")
    rows = card(activity)["body"][1]["rows"]
    assert [cell["items"][0]["text"] for cell in rows[1]["cells"]] == ["1", "2"]


def test_a_message_says_the_rows_of_a_table_that_answer_best() -> None:
    rows = (("1", "left"), ("**2**", "**right**"), ("**3**", ""), ("4", "**up**"))
    quoted = Quotation((Table(("No.", "Where"), rows),), (1,))
    text = only(replace(ANSWER, parts=(quoted,)))["text"]
    assert text == (
        "_Table 1, below_: No. \u00b7 Where  \n**2** \u00b7 **right**  \n**3** \u00b7\n\n[1]"
    )


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (Table(("a", "b"), (("1", "2"),)), ": a \u00b7 b"),
        (Table((), (("1", "2"), ("**3**", "**4**"))), ": **3** \u00b7 **4**"),
        (Table(("a",), tuple((f"**{n}**",) for n in range(9))), ": a  \n**0**  \n**1**  \n**2**"),
        (Table(("a",), (("**" + "long " * 200 + "**",),)), ": a"),
        (
            Table((), tuple((f"{n}", "x") for n in range(4))),
            ": 0 \u00b7 x  \n1 \u00b7 x  \n2 \u00b7 x",
        ),
    ],
)
def test_a_message_says_the_header_and_few_short_rows(table: Table, said: str) -> None:
    assert only(replace(ANSWER, parts=(table,)))["text"].split("\n\n")[0] == (
        f"_Table 1, below_{said}"
    )


def test_of_a_table_with_long_rows_alone_a_message_says_the_beginning() -> None:
    table = Table((), (("**" + "long " * 200 + "**",), ("short",)))
    text = only(replace(ANSWER, parts=(table,)))["text"].split("\n\n")[0]

    assert text.startswith("_Table 1, below_: **long long ")
    assert text.endswith("**\u2026")
    assert len(text) < 200


def test_the_words_of_a_table_in_several_cards_are_said_once() -> None:
    words = "\n".join(part["text"] for part in shown(replace(ANSWER, parts=(PLANS,))))
    assert words.count("Plan \u00b7 Price") == 1


SMALL_TABLE = "|a|b|\n|-|-|\n|c|d|\n\n"


def test_lines_stay_lines() -> None:
    lines = "I read it so:\nRestart [1].\n- one\n- two\n\n> a\n> b"
    text = only(replace(ANSWER, tone="found", text=lines))["text"]
    assert text == "I read it so:  \nRestart [1].\n- one\n- two\n\n> a  \n> b"


@pytest.mark.parametrize("piece", ["a\n\n", "a\n", SMALL_TABLE, "|", "`a", "[1]", "**", "> "])
@pytest.mark.parametrize("around", ["{}", "|a|b|\n|-|-|\n{}", "```\n{}\n```"])
def test_what_somebody_wrote_at_length_does_not_hold_up_everybody(piece: str, around: str) -> None:
    def show(text: str) -> None:
        shown(replace(ANSWER, text=around.format(text)))

    assert costs_in_proportion(show, piece, 20_000)


def test_what_looks_like_a_mark_in_code_cites_nothing() -> None:
    activity = only(replace(ANSWER, parts=(paragraph("Run:"), Code("x[1]"))))
    assert "citation" not in activity["entities"][0]
    assert "\\[1\\] [VPN guide" in activity["text"]


def test_a_table_of_many_rows_is_cut_into_cards_that_fit() -> None:
    parts = shown(replace(ANSWER, parts=(paragraph("Before."), PLANS, paragraph("After."))))
    assert len(parts) > 1
    tables = [each for part in parts for each in card(part)["body"] if each["type"] == "Table"]
    first = [row["cells"][0]["items"][0]["text"] for table in tables for row in table["rows"][1:]]
    assert first == [f"Plan {n}" for n in range(200)]
    words = "\n".join(part["text"] for part in parts)
    order = ["Before.", *(f"part {n} of" for n in range(1, len(tables) + 1)), "After."]
    assert sorted(order, key=words.index) == order


def test_a_table_with_too_large_a_row_is_a_list() -> None:
    table = Table(("a", "b"), (("x " * 36_000, "2"),))
    parts = shown(replace(ANSWER, parts=(table,)))
    assert parts[0]["text"].startswith("_(1 of")
    assert "a \u00b7 b:" in parts[0]["text"]
    assert sum(part["text"].count("x ") for part in parts) >= 8_990


_SHORT = (
    "[1] [12] [2]: [x](https://evil.example) ![i](https://evil.example/i.png) <at>Everyone</at> "
    "<https://evil.example> https://evil.example/a|b evil.example ` `` ** _ | \\ {{DATE(x)}}"
).split(" ")
_LINES = (
    *("\n", "\n\n", " ", "# H\n", "> q\n", "- l\n", "~~~\n", "a|b\n-|-\n", f"\n{TABLE}\n"),
    *("| a | b |\n|---|---|\n| 1 | [1] `c` |\n", "```py\nrun evil.example\n```\n"),
)
_LONG = (
    *("word " * 300, " \u4e16\U0001f600" * 700, "x" * 3_000, '"' * 500, "`long " * 400),
    "```\n" + 'line \\"quoted\\"\n' * 300 + "```\n",
)
HOSTILE = st.lists(st.sampled_from([*_SHORT, *_LINES, *_LONG]), max_size=14).map("".join)
SOURCES = tuple(
    replace(VPN, chunk_id=f"c{n}", url=f"https://wiki.example/{'p' * 80 * n}", quote="q" * 500)
    for n in range(1, 13)
)
_OURS = re.compile(r"(?<!\\)\]\(https://wiki\.example/p*\)")
_ADDRESS = r"(?<![^\W\u02cb])evil\.example(?![^\W\u02cb])"
_PLAIN = {"codeSnippet", "url", "@context", "type", "contentType", "name", "abstract"}


@given(HOSTILE)
def test_whatever_is_written_fits_resolves_and_is_dead(text: str) -> None:
    parts = shown(replace(ANSWER, text=text, sources=SOURCES))
    for number, part in enumerate(parts, start=1):
        assert len(part["entities"]) == 1
        assert part["text"].startswith(f"_({number} of {len(parts)})_") == (len(parts) > 1)
        assert_dead(part)
    listed = set(re.findall(r"- \\\[(\d+)\\\] \[", "\n".join(part["text"] for part in parts)))
    for part in parts:
        cited = {claim["position"] for claim in part["entities"][0].get("citation", [])}
        assert not cited & set(map(int, listed))
        for mark in re.findall(r"\[(\d{1,3})\]", part["text"]):
            assert int(mark) in cited or mark in listed or int(mark) > len(SOURCES)


@given(HOSTILE)
def test_whatever_is_in_a_part_fits_and_is_dead(text: str) -> None:
    table = Table((text,), ((text,), ("",)))
    steps = ItemList((Item(CitedText(text), (Code(text),)),), ordered=True)
    parts = (paragraph(text), Quotation((steps, table), (1,)), Code(text, text))
    for part in shown(replace(ANSWER, parts=parts)):
        assert_dead(part)


def assert_dead(activity: dict[str, Any]) -> None:
    """Check that no link but ours, no mention, image or bare address is live anywhere."""
    coded = re.compile(r"^(?:> )?```.*?^(?:> )?```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
    prose = _OURS.sub("", coded.sub(" ", activity["text"]))
    assert not re.search(rf"\]\(|!\[|://|<|{_ADDRESS}", prose)
    for attached in activity.get("attachments", []):
        for key, value in strings(attached["content"]):
            if key not in _PLAIN:
                assert not re.search(rf"(?<!\\)\]\(|://|<|\{{\{{|{_ADDRESS}", value), value


@given(st.lists(st.integers(min_value=0, max_value=1_500), min_size=1, max_size=8))
def test_parts_keep_the_order_of_the_text(lengths: list[int]) -> None:
    blocks = [
        f"Step{n}: {'w ' * length}" if n % 3 else f"```\nStep{n}: {'c ' * length}\n```"
        for n, length in enumerate(lengths)
    ]
    parts = shown(replace(ANSWER, text="\n\n".join(blocks)))
    said = "\n".join(part["text"] + json.dumps(part.get("attachments")) for part in parts)
    told = [said.index(f"Step{n}:") for n in range(len(lengths)) if n % 3]
    assert told == sorted(told)
    coded = [said.index(f"Step{n}:") for n in range(0, len(lengths), 3)]
    assert coded == sorted(coded)


ID = InteractionId("6d1f0a52-0000-5000-9d0b-3f6f6e2f9a11")


def pressed(response: Response) -> list[tuple[str, str]]:
    """Return label and name of each button."""
    buttons: tuple[Any, ...] = buttons_of(Outcome(response, TRACE), ID)
    assert all(button["data"]["about"] == ID for button in buttons)
    return [(each["title"], each.get("verb") or each["data"]["name"]) for each in buttons]


def test_below_an_answer_are_a_person_and_the_reason() -> None:
    assert pressed(ANSWER) == [
        ("Ask a person", "frontdesk.person"),
        ("Why this answer", "frontdesk.why"),
    ]


def test_an_offer_is_accepted_with_a_button() -> None:
    assert pressed(OFFERED) == [
        ("Yes, ask a person", "frontdesk.person"),
        ("Why no answer", "frontdesk.why"),
    ]
    (yes, _) = buttons_of(Outcome(OFFERED, TRACE), ID)
    assert yes["style"] == "positive"


def test_a_question_that_went_to_people_is_explained() -> None:
    assert pressed(HANDED_OVER) == [("Why no answer", "frontdesk.why")]


def test_six_things_that_could_be_meant_are_buttons() -> None:
    options = ("VPN", "x" * 200, " ", "Wifi", "Phone", "Door", "Lift", "Car park")
    buttons: tuple[Any, ...] = buttons_of(
        Outcome(Clarification(text="Which?", options=options), TRACE), ID
    )
    assert [each["data"]["option"] for each in buttons] == [0, 1, 3, 4, 5, 6]
    assert all(each["verb"] == "frontdesk.option" for each in buttons)
    assert all(len(each["title"]) <= 75 for each in buttons)


@pytest.mark.parametrize(
    "response",
    [
        Reply(text="Hello!", tone="generic"),
        Reply(text="No.", tone="answer", refused=True),
        Clarification(text="Which?"),
    ],
)
def test_small_talk_and_refusals_have_nothing_to_press(response: Response) -> None:
    assert not pressed(response)


SECRET = replace(VPN, labels=("it", "Secret"))
INTERNAL = replace(VPN, labels=("internal",))
MARKED = sensitivity_of(("secret=Confidential \\ IT", "internal=Internal only"))


def test_the_most_sensitive_page_wins_wherever_it_stands() -> None:
    answer = replace(ANSWER, sources=(VPN, INTERNAL, SECRET))
    assert MARKED.usage(answer) == {"@type": "CreativeWork", "name": "Confidential \\ IT"}


def test_pages_that_are_only_offered_count() -> None:
    for response in (
        replace(HANDED_OVER, suggestions=(VPN, INTERNAL)),
        Clarification(text="Which?", suggestions=(INTERNAL,)),
    ):
        assert MARKED.usage(response) == {"@type": "CreativeWork", "name": "Internal only"}


def test_pages_without_such_a_label_are_not_marked() -> None:
    assert MARKED.usage(ANSWER) is None
    assert NO_SENSITIVITY.usage(replace(ANSWER, sources=(SECRET,))) is None


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("secret", "'secret', which is not LABEL=Words"),
        ("=Confidential", "LABEL=Words"),
        ("secret=", "LABEL=Words"),
        (f"secret={'x' * 81}", "at most 80"),
        ("secret=A,Secret=B", "'secret' twice"),
    ],
)
def test_a_setting_that_says_nothing_stops_the_start(given: str, told: str) -> None:
    settings = load_settings(
        _env_file=None,
        microsoft_app_id=APP_ID,
        microsoft_app_password="secret",
        microsoft_app_tenant_id=ENTRA,
        teams_sensitivity=given,
    )
    with pytest.raises(SettingInvalid, match=told) as refused:
        connect(settings)
    assert "TEAMS_SENSITIVITY" in str(refused.value)
