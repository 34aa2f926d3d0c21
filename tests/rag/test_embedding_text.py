from rag.embedding import embedding_text
from rag.types import Chunk


def chunk(text: str, breadcrumb: tuple[str, ...] = ("IT", "VPN")) -> Chunk:
    return Chunk(
        id="c1",
        tenant="acme",
        space="it",
        page_id="vpn",
        ordinal=0,
        title="VPN",
        section="",
        breadcrumb=breadcrumb,
        text=text,
        url="",
        readers=(),
        source_type="folder",
        source_id="vpn.md",
    )


def test_breadcrumb_comes_before_the_text() -> None:
    assert embedding_text(chunk("Restart the client.")) == "IT > VPN\nRestart the client."


def test_text_stands_alone_without_a_breadcrumb() -> None:
    assert embedding_text(chunk("Restart.", breadcrumb=())) == "Restart."


def test_long_urls_are_left_out_and_short_ones_kept() -> None:
    text = f"See [guide](https://example.org/{'x' * 60}) or https://example.org/vpn now."

    assert embedding_text(chunk(text)) == "IT > VPN\nSee [guide]() or https://example.org/vpn now."
