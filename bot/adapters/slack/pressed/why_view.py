"""An explanation as a modal in which nothing is live but links that code built: pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bot.adapters.slack.showing.blocks import SECTION_LIMIT, Block, context, section, words
from bot.adapters.slack.wire.actions import WHY_VIEW
from bot.adapters.slack.wire.text import escaped, escaped_label
from bot.answering.explanations.explainer import Explanation, PageSummary
from bot.answering.explanations.steps import StatedConfidence
from bot.chat.response_view import web_url
from bot.domain.text.markdown import clip, split

_TITLE_LIMIT = 24
_MOST_BLOCKS = 100
_ONE_MOMENT = "One moment, I'm looking it up\u2026"


def explained(explanation: Explanation) -> Mapping[str, object]:
    """Return the modal of an explanation."""
    return _modal(explanation.title, tuple(_blocks(explanation))[:_MOST_BLOCKS])


def one_moment() -> Mapping[str, object]:
    """Return what is shown until there is an explanation."""
    return told(_ONE_MOMENT)


def told(sentence: str) -> Mapping[str, object]:
    """Return a modal with one sentence: why there is no explanation."""
    return _modal("Why", (section(escaped(sentence)),))


def _blocks(explanation: Explanation) -> Iterator[Block]:
    if explanation.question:
        yield section(f"> {escaped(explanation.question)}")
    for step in explanation.steps:
        yield from _sections(f"*{_bold(step.label)}*", step.text)
    if explanation.sure is not None:
        yield section(f"*How sure*\n{escaped(_sure(explanation.sure))}")
    if explanation.pages:
        yield from _pages(explanation.pages)
    if explanation.left_out:
        yield context(escaped(explanation.left_out))


def _sections(heading: str, text: str) -> Iterator[Block]:
    """Yield a step, cut where Slack takes no more of it."""
    room = SECTION_LIMIT - len(heading) - 1
    first, *rest = split(text, room, lambda part: len(escaped(part)))
    yield section(f"{heading}\n{escaped(first)}")
    yield from (section(escaped(part)) for part in rest)


def _sure(sure: StatedConfidence) -> str:
    return f"{sure.words}: {sure.told}, and an answer needs {sure.needed_told}"


def _pages(pages: Sequence[PageSummary]) -> Iterator[Block]:
    yield section("*Pages I read*")
    for page in pages:
        where = f" \u203a {page.section}" if page.section else ""
        label = escaped_label(clip(f"{page.title}{where}", 150))
        url = web_url(page.url)
        shown = f"<{url}|{label}>" if url else label
        yield section(f"\u2022 {shown}, {escaped(page.found)}")


def _bold(text: str) -> str:
    return escaped(clip(text, 80)).replace("*", "\u2217")


def _modal(title: str, blocks: Sequence[Block]) -> Mapping[str, object]:
    return {
        "type": "modal",
        "callback_id": WHY_VIEW,
        "title": words(clip(title, _TITLE_LIMIT)),
        "close": words("Close"),
        "blocks": list(blocks),
    }
