"""What a value of a block may be: small checks that return what is wrong, "" when nothing is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any], str]


def string(most: int, least: int = 1) -> Check:
    """Take a text of some length, in characters."""

    def check(value: object) -> str:
        if not isinstance(value, str):
            return f"{value!r} is no string"
        if not least <= len(value) <= most:
            return f"must have {least} to {most} characters, has {len(value)}"
        return ""

    return check


def flag(value: object) -> str:
    return "" if isinstance(value, bool) else f"{value!r} is not true or false"


def number(least: int, most: int) -> Check:
    def check(value: object) -> str:
        fits = isinstance(value, int) and least <= value <= most
        return "" if fits else f"{value!r} is not between {least} and {most}"

    return check


def one_of(*values: str) -> Check:
    return lambda value: "" if value in values else f"{value!r} is none of {values}"


def items(check: Check, most: int, least: int = 1) -> Check:
    """Take a list of so many things."""

    def each(value: object) -> str:
        if not isinstance(value, list) or not least <= len(value) <= most:
            return f"must be a list of {least} to {most}"
        wrong = (f"[{at}] {check(item)}" for at, item in enumerate(value) if check(item))
        return next(wrong, "")

    return each


def shape(required: Mapping[str, Check], **optional: Check) -> Check:
    """Take an object with these fields and no other."""

    def check(value: object) -> str:
        if not isinstance(value, dict):
            return f"{value!r} is no object"
        missing = [key for key in required if key not in value]
        extra = [key for key in value if key not in required and key not in optional]
        if missing or extra:
            return f"missing {missing}, not allowed {extra}"
        every = {**required, **optional}
        wrong = (f"{key}: {every[key](item)}" for key, item in value.items() if every[key](item))
        return next(wrong, "")

    return check


def plain(most: int) -> Check:
    """Take a plain_text object."""
    return shape({"type": one_of("plain_text"), "text": string(most)}, emoji=flag)


def mrkdwn(most: int) -> Check:
    """Take a mrkdwn object."""
    return shape({"type": one_of("mrkdwn"), "text": string(most)}, verbatim=flag)


def text(most: int) -> Check:
    """Take a plain_text or mrkdwn object."""

    def check(value: object) -> str:
        kind = value.get("type") if isinstance(value, dict) else None
        return (mrkdwn(most) if kind == "mrkdwn" else plain(most))(value)

    return check
