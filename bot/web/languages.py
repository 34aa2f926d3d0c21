"""The language of a page: what the browser accepts, and how templates say their texts in it."""

from __future__ import annotations

import re

from aiohttp import hdrs, web
from jinja2 import Environment, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from bot.domain.texts import ENGLISH, Catalogue, Language, Message, load_catalogue, tr
from bot.domain.texts.ingestion_texts import ingestion_text

UI_LANGUAGE: web.AppKey[str] = web.AppKey("ui_language", str)
"""The language of all pages, or "browser" for what each asks for; English without it."""

BY_BROWSER = "browser"

_CATALOGUE: web.AppKey[Catalogue] = web.AppKey("catalogue", Catalogue)
_CONTEXT_NAME = "language"


def add_languages(app: web.Application, templates: Environment) -> None:
    """Give templates ``_`` and ``_n``, and render each text put out in the page's language."""
    chosen = app.get(UI_LANGUAGE, ENGLISH.tag)
    app[_CATALOGUE] = load_catalogue(ENGLISH.tag if chosen == BY_BROWSER else chosen)
    templates.globals["_"] = _translated
    templates.globals["_n"] = _counted
    templates.globals["said"] = ingestion_text
    templates.finalize = _rendered


def language_of(request: web.Request) -> Language:
    """Return the language of the page that a request asks for."""
    catalogue = request.config_dict.get(_CATALOGUE)
    if catalogue is None:
        return ENGLISH
    if request.config_dict.get(UI_LANGUAGE) != BY_BROWSER:
        return catalogue.default
    return catalogue.accepted(request.headers.get(hdrs.ACCEPT_LANGUAGE, ""))


def _language(context: Context) -> Language:
    found = context.get(_CONTEXT_NAME, ENGLISH)
    return found if isinstance(found, Language) else ENGLISH


_LABEL = re.compile(r'aria-label="(?:(Table)|(Code)|Source (\d+))"')
"""What bot.web.pages.safe_html says to screen readers."""


def _with_labels(html: Markup, language: Language) -> Markup:
    """Return HTML with what it says to screen readers in a page's language."""

    def label(found: re.Match[str]) -> str:
        table, code, number = found.groups()
        words = tr("Table") if table else tr("Code") if code else tr("Source {n}", n=number)
        return f'aria-label="{escape(language.text(words))}"'

    return html if language is ENGLISH else Markup(_LABEL.sub(label, html))  # noqa: S704 - as given


@pass_context
def _rendered(context: Context, value: object) -> object:
    language = _language(context)
    if isinstance(value, Markup):
        return _with_labels(value, language)
    return language.render(value)


@pass_context
def _translated(context: Context, message: str, /, **values: object) -> Markup:
    """Return a text as HTML: a message's own marks hold, those of its values are escaped."""
    return _filled(_language(context), Message(message, values=values))


@pass_context
def _counted(context: Context, one: str, many: str, n: int, /, **values: object) -> Markup:
    return _filled(_language(context), Message(one, many, n, {"n": n, **values}))


def _filled(language: Language, message: Message) -> Markup:
    values = {name: language.value(value) for name, value in message.values.items()}
    return Markup(language.template(message)).format(**values)  # noqa: S704 - the catalogue is ours
