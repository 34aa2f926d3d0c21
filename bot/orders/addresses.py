"""The address of a page as it may be written in the index; pure."""

from __future__ import annotations

from urllib.parse import quote, unquote, urlsplit, urlunsplit

_OWN_PAGES = "/pages/"
"""Pages without an address of their own are shown by this server, under a path of its own."""


def forms_of(url: str) -> tuple[str, ...]:
    """Return the addresses that could stand for the same page, the likeliest first.

    As it was given; without what jumps within the page; without what a link was decorated with;
    with and without an end; and with its characters in the other spelling.
    """
    given = url.strip().rstrip(".,;!)")
    if "://" not in given and not given.startswith("/"):
        given = f"https://{given}"
    try:
        parts = urlsplit(given)
    except ValueError:
        return (given,)
    bare = urlunsplit(parts._replace(fragment=""))
    plain = urlunsplit(parts._replace(fragment="", query=""))
    forms = [given, bare, plain]
    if parts.path.startswith(_OWN_PAGES):
        forms.append(parts.path)
    ended = [*forms, *(_other_end(form) for form in forms)]
    spelled = [*ended, *(_other_spelling(form) for form in ended)]
    return tuple(dict.fromkeys(spelled))


def _other_end(form: str) -> str:
    return form[:-1] if form.endswith("/") else f"{form}/"


def _other_spelling(form: str) -> str:
    """Return an address with its special characters encoded, or decoded where they are."""
    decoded = unquote(form)
    return decoded if decoded != form else quote(form, safe=":/?#[]@!$&'()*+,;=~%")
