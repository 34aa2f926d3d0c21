"""Test how replies render as Slack blocks and mrkdwn, and that hostile text in them is inert."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.response_view import COMPOSED_NOTE, render
from bot.domain.interactions import Clarification, Escalation, Outcome, Reply, Response, Source
from bot.domain.messages import InteractionId
from bot.domain.settings_loading import load_settings
from bot.platforms.slack.channel import connect
from bot.platforms.slack.payloads.markup import escaped, from_mrkdwn, to_mrkdwn, without_mention
from bot.platforms.slack.rendering import TEXT_LIMIT, MessageForms, buttons_of, reply_messages
from rag.parts import Code, Part, Table, paragraph, parts_text
from tests.fakes.desk import ANSWER, HANDED_OVER, LOCAL, OFFERED, TRACE, VPN, delivery
from tests.fakes.slack.blocks import BLOCK_TYPES, refusal
from tests.fakes.slack.builders import HELP, PEOPLE, ROOT, question, unhurried
from tests.fakes.slack.events import SECRET
from tests.fakes.slack.hostile_text import ATTACKS, found_in
from tests.fakes.slack.names import TOKEN
from tests.fakes.slack.server import FakeSlack

pytestmark = pytest.mark.attack

BOT = frozenset({"U0BOT"})


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        ("<@U0BOT> vpn down?", "vpn down?"),
        ("<@U0BOT|frontdesk>: vpn down?", "vpn down?"),
        ("hey <@U0BOT> vpn down?", "hey vpn down?"),
        ("<@U0BOT> <@U2> can't log in", "<@U2> can't log in"),
        ("<@U0BOT>\n```\na  b\n```", "```\na  b\n```"),
        ("<@U0BOT>", ""),
        ("<@U0BOTTOM> is not us", "<@U0BOTTOM> is not us"),
        ("two  spaces kept", "two  spaces kept"),
    ],
)
def test_only_the_bots_own_mention_is_removed(text: str, stripped: str) -> None:
    assert without_mention(text, BOT) == stripped


def test_with_no_id_known_the_first_mention_is_taken_for_the_bots() -> None:
    assert without_mention("<@U9> ask <@U8>", frozenset()) == "ask <@U8>"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a &lt;b&gt; &amp;&amp; c", "a <b> && c"),
        ("&amp;lt;", "&lt;"),
        ("ask <@U2> or <@U3|bob>", "ask @U2 or @bob"),
        ("see <#C1|general>", "see #general"),
        ("<https://x.example/a?b=1&amp;c=2>", "https://x.example/a?b=1&c=2"),
        ("<https://x.example|the page>", "the page (https://x.example)"),
        ("<!here> <!subteam^S1|@ops> <!date^1^{date}|today>", "@here @ops today"),
    ],
)
def test_slack_notation_becomes_what_was_meant(text: str, meant: str) -> None:
    assert from_mrkdwn(text) == meant


@given(st.text(alphabet="<>&!@#|^ab/:*`\n ", max_size=80))
def test_nothing_escaped_is_live_and_nothing_is_lost(text: str) -> None:
    for shown in (escaped(text), to_mrkdwn(text)):
        assert "<" not in shown
        assert not re.search(r"&(?!amp;|lt;|gt;)", shown)
    assert from_mrkdwn(escaped(text)) == text


def test_a_quote_stays_a_quote() -> None:
    assert escaped("> a > b <c>") == "> a &gt; b &lt;c&gt;"


def test_marks_that_nothing_closes_take_no_time() -> None:
    began = time.process_time()
    to_mrkdwn("**a " * 10_000)
    assert time.process_time() - began < 4


NOW = datetime(2026, 11, 22, tzinfo=UTC)
ID = InteractionId("6d1f0a52-0000-5000-9d0b-3f6f6e2f9a11")
Blocks = list[Mapping[str, Any]]


def pressed(response: Response) -> list[tuple[str, str, str]]:
    """Return label, action and value of the buttons in a row below a response."""
    row = buttons_of(Outcome(response, TRACE), ID).row
    elements = cast("Blocks", row["elements"]) if row else []
    return [(each["text"]["text"], each["action_id"], each["value"]) for each in elements]


def blocks(response: Response, remarks: tuple[str, ...] = ()) -> Blocks:
    (forms,) = reply_messages(
        render(response, private=True, remarks=remarks),
        now=NOW,
        buttons=buttons_of(Outcome(response, TRACE), ID),
    )
    return cast("Blocks", forms[0].blocks)


def test_a_source_tells_its_space_and_its_age() -> None:
    old = replace(VPN, space="IT", updated_at=NOW - timedelta(days=100))
    listed = blocks(replace(ANSWER, sources=(old, replace(LOCAL, space="HR"), LOCAL)))[1]
    guide = "<https://wiki.example.com/vpn?a=1&b=2|VPN guide \u203a Reset>"
    assert listed["text"]["text"].split("\n") == [
        "*Sources*",
        f"[1] {guide}, IT, updated 3 months ago",
        "[2] Offices, HR",
        "[3] Offices",
    ]


def test_below_an_answer_are_thumbs_a_person_and_the_reason() -> None:
    assert pressed(ANSWER) == [("Ask a person", "ask_person", ID), ("Why this answer", "why", ID)]
    thumbs = blocks(ANSWER)[-2]["elements"][0]
    assert thumbs["action_id"] == "feedback"
    assert thumbs["positive_button"]["value"] == f"up:{ID}"
    assert thumbs["negative_button"]["value"] == f"down:{ID}"


def test_an_offer_is_accepted_with_a_button() -> None:
    assert pressed(OFFERED) == [
        ("Yes, ask a person", "ask_person", ID),
        ("Why no answer", "why", ID),
    ]
    assert blocks(OFFERED)[-1]["elements"][0]["style"] == "primary"


def test_a_question_that_went_to_people_is_explained() -> None:
    assert pressed(HANDED_OVER) == [("Why no answer", "why", ID)]


def test_what_could_be_meant_is_chosen_with_a_button() -> None:
    asked = Clarification(text="Which?", options=("VPN", "x" * 200, " ", "Wifi", "Phone", "Door"))
    shown = pressed(asked)
    assert [(action, value) for _, action, value in shown] == [
        (f"option:{number}", f"{ID}:{number}") for number in (0, 1, 3, 4)
    ]
    assert all(len(label) <= 75 for label, _, _ in shown)


@pytest.mark.parametrize(
    "response",
    [
        Reply(text="Hello!", tone="generic"),
        Reply(text="No.", tone="generic", refused=True),
        Clarification(text="Which?"),
    ],
)
def test_small_talk_and_refusals_have_nothing_to_press(response: Response) -> None:
    assert not pressed(response)
    assert {block["type"] for block in blocks(response)} == {"markdown"}


def test_remarks_stand_in_small_print() -> None:
    shown = blocks(ANSWER, ("I did not read a.png: I read text only.",))
    remark, note = [block for block in shown if block["type"] == "context"]
    assert note["elements"][0]["text"] == COMPOSED_NOTE
    assert remark["elements"][0]["text"] == "I did not read `a.png`: I read text only."


def test_the_way_to_a_person_is_told_in_words_only_where_there_is_no_button() -> None:
    outcome = Outcome(ANSWER, TRACE)
    (forms,) = reply_messages(
        render(ANSWER, private=True), now=NOW, buttons=buttons_of(outcome, ID)
    )
    for form in forms:
        has_button = any(block["type"] == "actions" for block in form.blocks)
        assert ("Not what you need?" in str(form.blocks) + form.text) != has_button


@pytest.mark.parametrize("length", [100, 11_000, 11_450, 11_600, 40_000])
@pytest.mark.parametrize("sources", [0, 1, 12])
def test_every_message_of_any_length_fits(length: int, sources: int) -> None:
    text = "Take <this> & that. " * (length // 20)
    far = replace(VPN, url="https://wiki.example.com/" + "x" * 900, title="<" * 140)
    response = replace(ANSWER, text=text, sources=(far,) * sources)
    shown = reply_messages(
        render(response, private=True),
        now=NOW,
        buttons=buttons_of(Outcome(response, TRACE), ID),
    )
    for forms in shown:
        for form in forms:
            payload = {"text": form.text, "blocks": list(form.blocks)}
            assert refusal(payload, BLOCK_TYPES) == ""
            written = [str(b["text"]) for b in form.blocks if b["type"] == "markdown"]
            assert sum(map(len, written)) <= TEXT_LIMIT
    assert sum("actions" in str(forms[0].blocks) for forms in shown) == 1
    assert "actions" in str(shown[-1][0].blocks)


def test_a_code_block_is_not_cut() -> None:
    code = "```\n" + "run this\n" * 300 + "```"
    text = "\n\n".join(["word " * 1_900, code, "after"])
    shown = reply_messages(render(replace(ANSWER, text=text), private=True), now=NOW)
    written = [str(forms[0].blocks[0]["text"]) for forms in shown]
    assert len(written) == 2
    assert sum(code in part for part in written) == 1


WORDS = st.lists(
    st.one_of(
        st.sampled_from(ATTACKS),
        st.text(alphabet="<>!@#|&;`[]()\\:/ \n.ab1~*_^-", max_size=12),
        st.sampled_from(["VPN", " ", "\n", "\n\n", "- ", "1. ", "``", "```", "~~~"]),
    ),
    min_size=1,
    max_size=6,
).map("".join)


def hostile(words: str, *, url: str = VPN.url) -> Source:
    return replace(VPN, title=words, section=words[::-1], space=words, url=url, quote=words)


def responses(words: str) -> tuple[Response, ...]:
    page = hostile(words, url=f"https://wiki.example.com/{words}")
    nowhere = hostile(words, url=f"javascript:{words}")
    return (
        Reply(text=words, tone="answer", sources=(page, nowhere), confidence=0.9),
        Reply(text=words, tone="generic"),
        Clarification(text=words, options=(words, words[:70]), suggestions=(page,)),
        replace(OFFERED, text=words, suggestions=(page, nowhere)),
        Escalation(text=words, reason="low_confidence", question=words, suggestions=(nowhere,)),
    )


async def said(words: str, kinds: frozenset[str]) -> list[Mapping[str, object]]:
    """Return the payloads of everything that can be shown of such words."""
    async with FakeSlack(block_types=kinds).serving() as slack:
        channel = connect(
            load_settings(
                _env_file=None,
                slack_bot_token=TOKEN,
                slack_signing_secret=SECRET,
                slack_api_url=slack.url,
                slack_escalation_channel=PEOPLE,
            ),
            caller=unhurried(),
        )
        private = Reply(text=words, tone="answer", sources=(hostile(words),))
        for number, response in enumerate(responses(words)):
            asked = replace(question(id=f"{ROOT[:-1]}{number}"), text=words)
            outcome = Outcome(response, TRACE, private=private, remarks=(words,))
            await channel.deliver(replace(delivery(asked), outcome=outcome))
            await channel.private_replies.whisper(asked, private)
        return [post.payload for post in slack.posts if post.channel == HELP]


FORMS = (BLOCK_TYPES, BLOCK_TYPES - {"markdown"}, frozenset[str]())


@pytest.mark.parametrize("kinds", FORMS, ids=["rich", "sections", "text"])
@pytest.mark.parametrize("attack", ATTACKS)
async def test_no_attack_is_live_in_any_field_of_any_form(
    attack: str, kinds: frozenset[str]
) -> None:
    for payload in await said(f"VPN {attack} now", kinds):
        assert found_in(payload) == []


@given(WORDS, st.sampled_from(FORMS))
def test_nothing_that_can_be_put_together_is_live(words: str, kinds: frozenset[str]) -> None:
    for payload in asyncio.run(said(words, kinds)):
        assert found_in(payload) == []


@pytest.mark.parametrize(
    ("payload", "finds"),
    [
        ({"text": "<!channel>"}, "!channel"),
        ({"text": "see https://evil.example"}, "https://"),
        ({"text": "a", "blocks": [{"type": "markdown", "text": "<@U1>"}]}, "@U1"),
        ({"text": "a", "blocks": [{"type": "markdown", "text": "![x](evil.example)"}]}, "![x]"),
        ({"text": "a", "blocks": [{"type": "image"}]}, "image"),
    ],
)
def test_the_check_sees_what_is_live(payload: dict[str, object], finds: str) -> None:
    quiet = {"unfurl_links": False, "unfurl_media": False}
    assert found_in({**payload, **quiet})
    assert any(finds in one for one in found_in({**payload, **quiet}))
    assert found_in({"text": ANSWER.text}) == ["unfurled"]


PORTS = Table(("Port", "**Use**"), (("443", "`vpn <@U1>`"), ("", "<!here> & co")), (1,))


def forms_of(*parts: Part) -> tuple[MessageForms, ...]:
    reply = replace(ANSWER, text=parts_text(parts), parts=parts)
    return reply_messages(render(reply, private=False), now=NOW)


def test_a_table_is_a_block_in_its_place_and_its_marks_are_below_it() -> None:
    (forms,) = forms_of(paragraph("Look:"), PORTS)
    before, table, after, *_ = cast("Any", forms[0].blocks)

    assert (before["text"], after["text"]) == ("Look:", "[1]")
    cells = [[cell["elements"][0]["elements"] for cell in row] for row in table["rows"]]
    bold = {"style": {"bold": True}}
    assert cells == [
        [[{"type": "text", "text": "Port", **bold}], [{"type": "text", "text": "Use", **bold}]],
        [
            [{"type": "text", "text": "443"}],
            [{"type": "text", "text": "vpn <@U1>", "style": {"code": True}}],
        ],
        [[{"type": "text", "text": " "}], [{"type": "text", "text": "<!here> & co"}]],
    ]
    assert refusal({"blocks": list(forms[0].blocks), "text": "x"}, BLOCK_TYPES) == ""


def test_code_in_a_bold_cell_is_code_without_its_backticks() -> None:
    (forms,) = forms_of(Table((), (("**See `http://e.example` first**",),)))
    table, *_ = cast("Any", forms[0].blocks)

    assert table["rows"][0][0]["elements"][0]["elements"] == [
        {"type": "text", "text": "See ", "style": {"bold": True}},
        {"type": "text", "text": "http://e.example", "style": {"bold": True, "code": True}},
        {"type": "text", "text": " first", "style": {"bold": True}},
    ]


def test_where_tables_are_refused_their_rows_are_lines() -> None:
    (forms,) = forms_of(PORTS)
    plain = [form for form in forms if all(each["type"] != "table" for each in form.blocks)]

    assert "- 443 \u00b7 `vpn &lt;@U1&gt;`" in str(plain[0].blocks[0]["text"])


def test_code_in_the_lines_of_a_table_stands_in_single_backticks() -> None:
    coded = Table((), (("``ls ` <@U1>``",),))
    forms = [form for each in (forms_of(coded), forms_of(PORTS, coded)) for form in each[0]]

    for text in (str(part) for form in forms for part in (form.text, form.blocks)):
        assert "``" not in text
    assert "`ls \u02cb &lt;@U1&gt;`" in forms[-1].text


@pytest.mark.parametrize(
    "table",
    [
        Table((), tuple(("x",) for _ in range(101))),
        Table((), (("x",) * 21,)),
        Table(("a",), (("x" * 3_000,),) * 4),
    ],
    ids=["long", "wide", "much"],
)
def test_a_table_that_slack_does_not_take_is_lines_from_the_first(table: Table) -> None:
    blocks = [each for forms in forms_of(table) for each in forms[0].blocks]

    assert "table" not in {each["type"] for each in blocks}
    assert refusal({"blocks": [dict(each) for each in blocks], "text": "x"}, BLOCK_TYPES) != (
        "invalid_blocks"
    )


def test_no_row_is_lost_where_the_text_of_a_table_is_long() -> None:
    cells = [[f"&<{row}.{column}>" for column in range(12)] for row in range(99)]
    shown = forms_of(Table((), tuple(map(tuple, cells))))
    plain = [[form for form in forms if "'table'" not in str(form.blocks)] for forms in shown]

    for form in (form for forms in plain for form in forms):
        written = [str(b["text"]) for b in form.blocks if b["type"] == "markdown"]
        assert sum(map(len, written)) <= TEXT_LIMIT
        assert refusal({"text": form.text, "blocks": list(form.blocks)}, BLOCK_TYPES) == ""
    whole = "".join(str(forms[0].blocks) for forms in plain)
    assert all(escaped(cell) in whole for row in cells for cell in row)


def test_of_two_tables_in_a_message_the_second_is_lines() -> None:
    (forms,) = forms_of(PORTS, Table((), (("22", "SSH"),)))
    kinds = [each["type"] for each in forms[0].blocks]

    assert kinds.count("table") == 1
    assert "- 22 \u00b7 SSH" in str(forms[0].blocks)


def test_code_is_fenced_and_whole_beside_long_text() -> None:
    code = Code("\n".join(f"line {n} ```" for n in range(300)))
    bodies = [str(form[0].blocks[0]["text"]) for form in forms_of(paragraph("w " * 5_000), code)]

    (body,) = (body for body in bodies if "line 0 " in body)
    assert "line 299 " in body
    assert body[body.index("line 0") :].count("```") == 1
