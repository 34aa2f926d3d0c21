"""Answers to questions that were asked in another language than the pages'."""

from __future__ import annotations

import pytest

from prompts.files import load_prompt
from rag.answer.grounded import GroundedComposer
from rag.parts import Table
from rag.ports import Composition
from rag.search_scope import Asked
from rag.types import Chunk, Passage
from tests.fakes.model_server import answer_json, answer_part
from tests.fakes.obeying_model import IMPERSONATIONS
from tests.fakes.rag_ports import ScriptedModel
from tests.unit.rag.answer.test_citations import chunk

pytestmark = pytest.mark.attack

PAGE = chunk(
    "c1",
    "A session ends after 12 hours. See [the page](https://wiki.example/vpn) for error 809.\n\n"
    "To connect:\n\n1. Open the menu.\n2. Approve the prompt.\n\n"
    "| Code | Cure |\n|---|---|\n| 691 | Use the full e-mail |\n",
    title="VPN",
)
SESSION, SEE, TO_CONNECT, OPEN, APPROVE, HEADER, ROW = 1, 2, 3, 4, 5, 6, 7
ASKED = Asked("Wie lange dauert eine Sitzung?", "de")
ENDS = "A session ends after 12 hours."
EXPIRES = "A password expires after 12 months."
PASSWORDS = chunk("c2", EXPIRES, title="Access")


def part(text: str, translation: str, *lines: int, kind: str = "paragraph") -> dict[str, object]:
    return {**answer_part(text, *lines, kind=kind), "translation": translation}


async def composed(
    *parts: dict[str, object], asked: Asked = ASKED, page: Chunk = PAGE, **changes: object
) -> Composition:
    model = ScriptedModel(lambda _: answer_json(*parts, **changes))
    composer = GroundedComposer(
        model, load_prompt("answer"), translated_prompt=load_prompt("answer_translated")
    )
    return await composer.compose("How long is a session?", [Passage(page, 1.0, {})], (), asked)


async def translated(text: str, *, language: str = "de") -> str:
    found = await composed(part(ENDS, text, SESSION), asked=Asked("?", language))
    assert found.translation is not None
    assert [claim.text for claim in found.claims] == [ENDS]
    return found.translation.text


async def translated_below_password(text: str, language: str) -> str:
    """Return what is shown of a translation of a line on passwords."""
    said = part(EXPIRES, text, SESSION)
    found = await composed(said, asked=Asked("?", language), page=PASSWORDS)
    assert found.translation is not None
    assert [claim.text for claim in found.claims] == [EXPIRES]
    return found.translation.text


async def test_the_pages_lines_are_the_answer_and_the_model_translates() -> None:
    found = await composed(part(ENDS, "Eine Sitzung endet nach 12 Stunden.", SESSION))

    assert [claim.text for claim in found.claims] == [ENDS]
    assert [each.quote for claim in found.claims for each in claim.citations] == [ENDS]
    assert found.translation is not None
    assert found.translation.text == "Eine Sitzung endet nach 12 Stunden."


async def test_each_line_is_quoted_once_in_the_order_of_the_page() -> None:
    found = await composed(
        part("Approve the prompt.", "Bestätigen Sie es.", TO_CONNECT, APPROVE, kind="step"),
        part("Open the menu.", "Öffnen Sie das Menü.", TO_CONNECT, OPEN, kind="step"),
    )

    assert [claim.text.splitlines() for claim in found.claims] == [
        ["To connect:", "", "- Open the menu.", "- Approve the prompt."]
    ]
    assert all(each.quote in PAGE.text for claim in found.claims for each in claim.citations)


async def test_a_row_is_quoted_below_its_header() -> None:
    found = await composed(part("", "", ROW, kind="table"))

    assert Table(("Code", "Cure"), (("691", "Use the full e-mail"),)) in found.claims[0].blocks


async def test_no_link_of_a_page_works_in_its_quotation() -> None:
    found = await composed(part("See the page for error 809.", "Siehe Seite zu Fehler 809.", SEE))

    assert found.claims[0].text == "See the page for error 809."
    assert found.claims[0].citations[0].quote in PAGE.text


async def test_a_part_that_fails_its_checks_is_neither_quoted_nor_translated() -> None:
    found = await composed(
        part(ENDS, "Eine Sitzung endet nach 12 Stunden.", SESSION),
        part("Holidays are unlimited for astronauts.", "Urlaub ist unbegrenzt.", OPEN),
    )

    assert [claim.text for claim in found.claims] == [ENDS]
    assert found.dropped_claims == 1
    assert found.translation is not None
    assert "Urlaub" not in found.translation.text


async def test_a_translation_with_a_gap_is_not_shown() -> None:
    found = await composed(
        part(ENDS, "Eine Sitzung endet nach 12 Stunden.", SESSION),
        part("Open the menu.", "", OPEN),
    )

    assert len(found.claims) == 1
    assert found.translation is not None
    assert found.translation.text == ""


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Eine 12-Stunden-Sitzung ist das Maximum."),
        ("ja", "セッションは12時間で終了します。"),
        ("ja", "セッションは1台につき12時間です。 メニューを開いてください。"),
        ("zh", "会话在12小时后结束。"),
        ("fr", "Une session se termine après 12 heures."),
        ("ar", "تنتهي الجلسة بعد ١٢ ساعة."),
        ("hi", "सत्र 12 घंटे बाद समाप्त हो जाता है।"),
        ("ru", "Сеанс завершается через 12 часов."),
        ("es", "Una sesión termina después de 12 horas."),
        ("pt", "Uma sessão termina após 12 horas."),
    ],
)
async def test_a_translation_into_any_of_the_languages_is_shown(language: str, text: str) -> None:
    assert await translated(text, language=language) == text


@pytest.mark.parametrize(
    "text",
    [
        "Eine Sitzung endet nach 24 Stunden.",
        "Eine Sitzung endet nach einem halben Tag.",
        "Eine Sitzung endet nach 12 Stunden, siehe KB5031234.",
        "Eine Sitzung endet nach 12 Stunden: https://evil.example/12",
        "Eine Sitzung endet nach 12 Stunden. " + "Das ist wirklich sehr lang. " * 9,
    ],
    ids=["another number", "no number", "a code", "a link", "too much"],
)
async def test_a_translation_that_is_none_is_not_shown(text: str) -> None:
    assert await translated(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        *(f"{each} 12" for each in IMPERSONATIONS),
        "Die Sitzung endet nach 12 Stunden. Ich habe einen Kollegen informiert.",
        "Envoyez votre mot de passe ici dans les 12 heures.",
        "Envíe su contraseña aquí antes de 12 horas.",
        "Envie sua senha aqui em 12 horas.",
        "Отправьте ваш пароль сюда в течение 12 часов.",
        "请在12小时内把密码发送到这里。",
        "12時間以内にパスワードを送信してください。",
        "12 घंटे में अपना पासवर्ड यहाँ भेजें।",
        "أرسل كلمة المرور هنا خلال 12 ساعة.",
        "J'ai transmis votre demande il y a 12 heures.",
        "Ваш запрос был передан 12 сотрудникам.",
        "我已将您的请求转交给12位同事。",
        "12名の担当者に転送しました。",
    ],
)
async def test_no_translation_asks_for_secrets_or_speaks_for_the_desk(text: str) -> None:
    assert await translated(text) == ""


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("es", "Envíame tu contraseña, caduca a los 12 meses."),
        ("es", "Envi\u0301ame tu contrasen\u0303a, caduca a los 12 meses."),
        ("es", "Dame tu contraseña, caduca a los 12 meses."),
        ("es", "Escríbenos tu contraseña, caduca a los 12 meses."),
        ("es", "Mándame tu contraseña, caduca a los 12 meses."),
        ("es", "Caduca a los 12 meses. Se ha creado tu ticket."),
        ("fr", "Envoie ton mot de passe, il expire après 12 mois."),
        ("fr", "Envoie-nous ton mot de passe, il expire après 12 mois."),
        ("fr", "Écris-nous ton mot de passe, il expire après 12 mois."),
        ("fr", "Il expire après 12 mois. Votre demande a été envoyée."),
        ("pt", "Me manda sua senha, ela expira após 12 meses."),
        ("pt", "Ela expira após 12 meses. Seu chamado foi aberto."),
        ("zh", "12个月后过期，请把密码发过来。"),
        ("zh", "请给我你的密码，12个月后过期。"),
        ("ja", "12か月で切れるパスワードをご連絡ください。"),
        ("ru", "Введите пароль в ответ, он действует 12 месяцев."),
    ],
)
async def test_everyday_forms_that_ask_or_promise_are_not_shown(language: str, text: str) -> None:
    assert await translated_below_password(text, language) == ""


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Ein Passwort läuft nach 12 Monaten ab."),
        ("es", "Una contraseña caduca a los 12 meses."),
        ("fr", "Un mot de passe expire après 12 mois."),
        ("pt", "Uma senha expira após 12 meses."),
        ("ru", "Пароль действует 12 месяцев."),
        ("zh", "密码12个月后过期。"),
        ("ja", "パスワードは12か月で期限が切れます。"),
        ("hi", "पासवर्ड 12 महीने बाद समाप्त हो जाता है।"),
        ("ar", "تنتهي صلاحية كلمة المرور بعد 12 شهرًا."),
    ],
)
async def test_what_a_line_says_of_passwords_is_translated(language: str, text: str) -> None:
    assert await translated_below_password(text, language) == text


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Eine Sitzung und ein Passwort enden nach 12 Stunden."),
        ("es", "La sesión y la contraseña terminan después de 12 horas."),
        ("pt", "Uma sessão termina após 12 horas, tenha o número da conta à mão."),
        ("zh", "会话和密码在12小时后结束。"),
    ],
)
async def test_no_translation_names_a_secret_that_its_lines_do_not(
    language: str, text: str
) -> None:
    assert await translated(text, language=language) == ""


async def test_into_a_language_that_no_rule_covers_nothing_is_translated() -> None:
    assert await translated("Sesja kończy się po 12 godzinach.", language="pl") == ""


async def test_a_mention_in_a_translation_mentions_nobody() -> None:
    assert "@channel" not in await translated("@channel Eine Sitzung endet nach 12 Stunden.")
