"""What kind of thing a question asks for, and whether a text holds one; pure."""

from __future__ import annotations

import re

_NUMBER_WORDS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|half"
    "|once|twice|daily|weekly|biweekly|monthly|quarterly|yearly|annually|unlimited"
)
_CALENDAR = (
    "monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|june"
    "|july|august|september|october|november|december|noon|midnight|quarter"
)

_ASKED_AND_GIVEN: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (
        re.compile(
            r"\bhow (?:much|many|long|often|far|soon|big|late|early|old)\b"
            r"|\b(?:cost|price|limit|maximum|minimum|max|min|fee|percent|percentage)\b",
            re.IGNORECASE,
        ),
        re.compile(rf"\d|\b(?:{_NUMBER_WORDS})\b", re.IGNORECASE),
    ),
    (
        re.compile(r"\b(?:when|what time|which day|deadline|due|what date)\b", re.IGNORECASE),
        re.compile(rf"\d|\b(?:{_CALENDAR}|{_NUMBER_WORDS})\b", re.IGNORECASE),
    ),
    (
        re.compile(
            r"\b(?:who|whom|whose|contact|e-?mail|reach|channel|phone|call)\b", re.IGNORECASE
        ),
        re.compile(
            r"\w@\w|#[a-z]|\+?\d[\d() -]{6,}\d|\b[A-Z][a-z]+ [A-Z][a-z]+"
            r"|\b(?:team|desk|office|manager|supervisor|lead|officer)\b"
        ),
    ),
    (
        re.compile(r"\b(?:where|link|url|address|room|website)\b", re.IGNORECASE),
        re.compile(r"https?://|\]\(|#[a-z]|\b(?:at|in|on|under|to) (?:the )?[\"`*]*[A-Z]"),
    ),
)


def asked(question: str) -> tuple[re.Pattern[str], ...]:
    """Return what an answer must look like: a number, a time, someone or somewhere; often none."""
    return tuple(given for wanted, given in _ASKED_AND_GIVEN if wanted.search(question))


def gives(text: str, wanted: tuple[re.Pattern[str], ...]) -> bool:
    """Whether a text holds one of the kinds of thing that are wanted; False when none are."""
    return any(pattern.search(text) for pattern in wanted)


def same_asked(question: str, heading: str) -> bool:
    """Whether a heading asks for what the question asks for: "How much", "Who to ask"."""
    return any(wanted.search(question) and wanted.search(heading) for wanted, _ in _ASKED_AND_GIVEN)
