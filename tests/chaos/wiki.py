"""A small wiki of an invented company: one page a topic, each with words no other page has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Topic:
    """What is asked about. ``mark`` is a word that only an answer to it shows."""

    title: str
    question: str
    fact: str
    mark: str


TOPICS = (
    Topic(
        "Guest network",
        "What is the name of the guest wifi network?",
        "The guest wifi network is called Heronry and its password changes every Monday.",
        "Heronry",
    ),
    Topic(
        "Travel expenses",
        "Where do I submit travel expenses?",
        "Submit travel expenses in Tallyho within thirty days of the journey.",
        "Tallyho",
    ),
    Topic(
        "Parking",
        "Where can employees park bicycles?",
        "Employees park bicycles in the Malachite garage behind the loading dock.",
        "Malachite",
    ),
    Topic(
        "Payroll",
        "Who runs the payroll?",
        "The payroll is run by the firm Quillfeather on the last working day.",
        "Quillfeather",
    ),
    Topic(
        "Coffee machine",
        "How do I descale the coffee machine?",
        "Descale the coffee machine with the Limewort tablets under the sink.",
        "Limewort",
    ),
    Topic(
        "Laptop encryption",
        "Which tool encrypts laptop disks?",
        "Laptop disks are encrypted with Padlockian before they leave the office.",
        "Padlockian",
    ),
    Topic(
        "Meeting rooms",
        "How do I book the largest meeting room?",
        "Book the largest meeting room, Cormorant Hall, at the reception desk.",
        "Cormorant",
    ),
    Topic(
        "Vaccination",
        "Where are flu vaccinations given?",
        "Flu vaccinations are given in the Saffron clinic every October.",
        "Saffron",
    ),
    Topic(
        "Printer paper",
        "Where is spare printer paper stored?",
        "Spare printer paper is stored in the Juniper cupboard on the third floor.",
        "Juniper",
    ),
    Topic(
        "Build server",
        "Which server compiles the nightly release?",
        "The nightly release is compiled on the server Basilisk in the cellar.",
        "Basilisk",
    ),
)
"""Each question has an answer of one sentence, so that an answer costs little and is known."""

SPACE = "CHAOS"


def write_wiki(folder: Path) -> None:
    """Write the pages as Markdown files, to be indexed like any other folder."""
    folder.mkdir(parents=True)
    for topic in TOPICS:
        name = topic.title.lower().replace(" ", "-")
        (folder / f"{name}.md").write_text(f"# {topic.title}\n\n{topic.fact}\n")
