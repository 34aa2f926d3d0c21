"""Recognise passwords, keys and tokens; for prompts, and for the lines of the log; no I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rag.personal_data.findings import Cue, Finding

_PRIVATE_KEY = r"-----BEGIN[A-Z ]*PRIVATE KEY-----(?:[^-]|-(?!----))*(?:-----END[A-Z ]*-----)?"
_ISSUED = (
    r"\b(?:xox[a-z]|xapp|sk|pk|rk|glpat|hf|pypi|npm|shpat|dop_v1)[-_](?=[\w-]{0,100}\d)[\w-]{12,}"
    r"|\b(?:gh[a-z]_|github_pat_|ATATT)\w{16,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bAIza[\w-]{30,}"
    r"|\bSG\.[\w-]{16,}\.[\w-]{16,}"
    r"|\beyJ[\w-]{10,}\.[\w-]+(?:\.[\w-]*)?"
    r"|\b\d{8,10}:AA[\w-]{30,}"
    r"|\bhooks\.slack\.com/services/[\w/]{20,}"
    r"|\bdiscord(?:app)?\.com/api/webhooks/\d+/[\w-]{20,}"
)
"""Forms of keys and tokens alone: their first letters name who issues them."""
_CALLED = (
    r"(?:password|passwort|passphrase|passcode|kennwort|secret|token|(?:account|access|api).?key"
    r"|contrase\u00f1a|mot de passe)"
)
_SAYS = r"\s{0,3}(?:[:=]|\b(?:is|ist|es|est)\b)\s{0,3}"

ANY_CREDENTIALS = re.compile(
    rf"{_PRIVATE_KEY}|{_ISSUED}"
    rf"|(?P<said>://|\bbearer\s{{1,3}}|\bbasic\s{{1,3}}|{_CALLED}{_SAYS})"
    r"(?:(?<=://)[^\s/@:]{1,100}:[^\s/@]{1,200}(?=@)"
    r"|(?<=[:=\s])(?=\S*\d)\S{6,}|(?<=[:=])\S+|(?<=[:=]\s)\S+)",
    re.IGNORECASE,
)
"""For the log, where a word too many does no harm: after "password:" any word is a secret."""

_KEY = re.compile(_PRIVATE_KEY)
_CHUNK = re.compile(r"\S{15,}")
_IN_CHUNK = re.compile(
    rf"{_ISSUED}|(?<=://)[^\s/@:]{{1,100}}:[^\s/@]{{1,200}}(?=@)|(?<=sig=)[\w%+/=-]{{20,}}",
    re.IGNORECASE,
)
_TECHNICAL = r"(?!0x[0-9a-f]|KB\d|CVE-\d|(?:INC|REQ|CHG)\d|https?:|v?\d+(?:\.\d+)+\b|\d{4}-\d\d)"
_DIGIT, _LETTER, _MARK = (
    r"(?=\S*\d)",
    r"(?=\S*[^\W\d_])",
    r"(?=\S*(?:[!#$%^&*+~?@][^\W_]|\d[!?*#$%]))",
)
CUES = (
    Cue(
        "password passwort passphrase passcode kennwort secret token account access api apikey"
        " contrase\u00f1a mot pwd pw",
        "CREDENTIAL",
        re.compile(
            rf"(?:{_CALLED}|pwd|pw)(?:{_SAYS}[\"'`]?{_TECHNICAL}"
            rf"(?P<value>(?:{_DIGIT}|{_MARK})\S{{6,}})"
            rf"|\s{{1,3}}[\"'`]?{_TECHNICAL}(?P<other>{_DIGIT}{_LETTER}{_MARK}\S{{6,}}))",
            re.IGNORECASE,
        ),
    ),
    Cue(
        "bearer basic",
        "CREDENTIAL",
        re.compile(rf"\w+\s{{1,3}}(?P<value>{_DIGIT}[\w.~+/=-]{{16,}})", re.IGNORECASE),
    ),
    Cue(
        "pin tan otp one verification security access",
        "CREDENTIAL",
        re.compile(
            r"(?:pin|tan|otp|(?:one-time|verification|security|access) code)(?: number| code)?"
            r"\s{0,2}(?:[:=]|\b(?:is|ist|was|lautet)\b)\s{0,2}(?P<value>\d{4,8})\b",
            re.IGNORECASE,
        ),
    ),
)
"""What a text calls a password or key; it has a digit or mark: "Password: where do I set it?"."""


def find_credentials(text: str) -> Iterable[Finding]:
    """Yield keys and tokens by their form."""
    if "PRIVATE KEY" in text:
        yield from (Finding("CREDENTIAL", *match.span()) for match in _KEY.finditer(text))
    for chunk in _CHUNK.finditer(text):
        for match in _IN_CHUNK.finditer(text, *chunk.span()):
            yield Finding("CREDENTIAL", *match.span())
