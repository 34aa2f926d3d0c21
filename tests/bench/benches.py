"""What `make bench` runs, in the order of docs/performance.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bench:
    """A bench: its section's title and introduction, its module, and its arguments.

    ``short`` are those for three runs within `make bench`, ``whole`` those of `--whole`; a bench
    without ``short`` takes minutes and runs only then.
    """

    title: str
    meaning: str
    module: str
    short: Sequence[str] | None
    whole: Sequence[str] = ()

    def arguments(self, *, whole: bool) -> Sequence[str]:
        return (self.module, *(self.whole if whole or self.short is None else self.short))


BENCHES = (
    Bench(
        "What Frontdesk adds to a question",
        "Everything but model and embedder, at 10,000 chunks. `desk` is answering itself, "
        "`record` what keeping message, progress and outcome on disk adds, `all` both. `stick` "
        "is the same Python loop for every question: its spread is the noise of the machine.",
        "tests.bench.bench_overhead",
        ("--questions", "150"),
        ("--chunks", "10000"),
    ),
    Bench(
        "Answers per second without a model",
        "The sample company's questions, eight at once, by everything that `serve` runs except "
        "HTTP. Alternating with them, the same questions are only embedded: the ratio of the "
        "processor times does not depend on the machine and its load. `make profile` draws "
        "where the time goes.",
        "tests.bench.bench_throughput",
        ("--questions", "250"),
    ),
    Bench(
        "What durability adds to an answer",
        "The same questions answered without storing anything, and the complete way: stored, "
        "started by the engine, admitted, answered, recorded, and delivered to a platform that "
        "accepts the reply at once.",
        "tests.bench.bench_durability",
        ("--questions", "80"),
    ),
    Bench(
        "Acknowledging Slack's events",
        "A real server under 50 signed events a second, while it answers all of them, beside a "
        "bare server that reads, verifies and says 200.",
        "tests.bench.bench_acknowledging",
        ("--seconds", "8"),
    ),
    Bench(
        "Acknowledging Teams' activities",
        "The same with 50 activities a second, each with a token that is verified, over a thousand "
        "chats and a hundred channels, and with a connector that takes no more than Teams does.",
        "tests.bench.bench_teams",
        ("--seconds", "5"),
    ),
    Bench(
        "A thousand questions at once",
        "Posted twice to one server with a slow model, a fifth as many in `make bench`.",
        "tests.bench.load",
        ("--questions", "200", "--seconds", "1", "--concurrency", "64"),
    ),
    Bench(
        "A question on the web page",
        "From the click to the bubble that shows the question, while 50 questions a second come "
        "from as many conversations and all of them are answered; beside it the page when nobody "
        "asks.",
        "tests.bench.bench_chat",
        ("--seconds", "8"),
    ),
    Bench(
        "Starting again, and idle memory",
        "`serve --sample` with what an earlier start wrote, until it says where it serves; its "
        "memory three seconds later. In turns with the bare server of the other benches.",
        "tests.bench.bench_start",
        ("--starts", "3"),
    ),
    Bench(
        "The first paint of the web page",
        "A fresh Chromium opens the chat of a real server, in turns with a page that has nothing "
        "on it.",
        "tests.bench.bench_first_paint",
        ("--visits", "10"),
    ),
    Bench(
        "A search compared with its parts",
        "One search with permissions, beside a bare FTS5 query and a bare exact vector search.",
        "tests.bench.bench_retrieval",
        ("--chunks", "10000"),
        ("--chunks", "10000", "100000"),
    ),
    Bench(
        "Ingestion compared with the bare embedder",
        "A whole sync, beside the embedder alone on the same chunks right before and after it; "
        "the embedder has forgotten their words each time.",
        "tests.bench.bench_ingestion",
        ("--rounds", "1"),
    ),
    Bench(
        "Following Confluence",
        "A space of a local Confluence, with an embedder that costs nothing: a first pass, a look "
        "at changes and a look at everything where nothing changed; and with the real embedder "
        "beside that alone, on the same texts.",
        "tests.bench.bench_confluence",
        ("--pages", "1000", "--real-pages", "100"),
    ),
    Bench(
        "Several servers on one PostgreSQL",
        "1, 2 and 4 `serve` processes on a PostgreSQL that waits for the disk: what they accept "
        "and answer a second, what a question costs, and what limits them. Everything runs on the "
        "same processors, so that more servers than processors can't answer more.",
        "tests.bench.bench_servers",
        None,
    ),
    Bench(
        "A day with the answer cache",
        "The sample company's labelled questions over a simulated day, as uneven as real ones "
        "(Zipf), without `ANSWER_CACHE` and with it; a recorded model with a stated delay. "
        "`seconds` are those that the askers waited, together. No aim: how often colleagues ask "
        "the same differs.",
        "tests.bench.bench_answer_cache",
        None,
    ),
    Bench(
        "How long a removed page can be found",
        "A real server over a local Confluence that is looked at whole each minute: seconds from a "
        "deletion or restriction until no question finds the page. Aims: at most one interval and "
        "a minute; with the last check, at once.",
        "tests.sweeps.syncing.removal_delay",
        None,
    ),
)
