"""The API's JSON models for the parts of an answer, by their kinds.

Class names and docstrings are public: they appear in the OpenAPI document.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel


class Schema(BaseModel):
    """A JSON model of the API. Its validation is built at its first use, not at every start."""

    model_config = ConfigDict(defer_build=True)


class Valued(Schema):
    """What is read from a value of an answer."""

    model_config = ConfigDict(from_attributes=True)


class CitedText(Valued):
    """Inline Markdown: bold and code spans alone."""

    text: str
    citations: list[int] = Field(description="Numbers of `sources`, from 1.")


class ParagraphPart(Valued):
    """Sentences, one after the other."""

    kind: Literal["paragraph"]
    texts: list[CitedText]


class ListItem(Valued):
    """A step or bullet, and what is below it."""

    text: CitedText
    blocks: list[ParagraphPart | ListPart | TablePart | CodePart]


class ListPart(Valued):
    """Steps (`ordered`, counted from `start`) or bullets."""

    kind: Literal["list"]
    ordered: bool
    start: int
    items: list[ListItem]


class TablePart(Valued):
    """Rows of cells in inline Markdown, as many in each as in the header; `[]` if it has none."""

    kind: Literal["table"]
    header: list[str]
    rows: list[list[str]]
    citations: list[int]


class CodePart(Valued):
    """Code to copy as it stands; `language` is the page's name for it, or empty."""

    kind: Literal["code"]
    text: str
    language: str
    citations: list[int]


class QuotationPart(Valued):
    """What a page says in its own words; its lines that answer best are in bold."""

    kind: Literal["quotation"]
    blocks: list[ParagraphPart | ListPart | TablePart | CodePart]
    citations: list[int]


class OmissionPart(Valued):
    """What is left out of the page here; of `steps` the numbers of the first and the last."""

    kind: Literal["omission"]
    of: Literal["text", "rows", "steps"]
    first: int | None
    last: int | None
    note: str = Field(description="The same in words.")


AnswerPart = Annotated[
    ParagraphPart | ListPart | TablePart | CodePart | QuotationPart | OmissionPart,
    Field(discriminator="kind"),
]


class AnswerParts(RootModel[Any]):
    """The parts of an answer, in the order in which they are read."""

    model_config = ConfigDict(defer_build=True)
    # RootModel[list[AnswerPart]] would be built at once.
    root: list[AnswerPart]
