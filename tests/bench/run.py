"""`make bench`: run every bench and write what they print into docs/performance.md."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "performance.md"
BENCHES = {
    "What Frontdesk adds to a question": (
        (
            "Everything but model and embedder. `desk` is answering itself, `record` what keeping "
            "message, progress and outcome on disk adds, `all` both. Aims at 10,000 chunks: p95 of "
            "`desk` at most 18 ms, of `all` at most 30 ms. `stick` is the same loop of Python for "
            "every question: it tells machines apart, and its own spread is the machine's."
        ),
        ["tests.bench.bench_overhead", "--chunks", "10000"],
    ),
    "Answers a second without a model": (
        (
            "The sample company's questions, eight at once, by everything in `serve` but its "
            "doors. In turns with them the same questions are embedded alone: the ratio of the "
            "processor times tells machines and their load apart. `make profile` draws where the "
            "time goes. Aim: at least 40 answers a second on two cores."
        ),
        ["tests.bench.bench_throughput"],
    ),
    "What durability adds to an answer": (
        (
            "The same questions by the desk alone and by the whole way: kept, begun in the engine, "
            "admitted, answered, recorded, delivered to a platform that takes the reply at once. "
            "Aim: at most 60 ms more at p50 on SQLite."
        ),
        ["tests.bench.bench_durability"],
    ),
    "Acknowledging Slack's events": (
        (
            "A real server under 50 signed events a second for a minute, while it answers all of "
            "them, beside a bare server that reads, verifies and says 200. Aim: p99 at most 200 ms "
            "on two cores."
        ),
        ["tests.bench.bench_acknowledging"],
    ),
    "Acknowledging Teams' activities": (
        (
            "The same with 50 activities a second, each with a token that is verified, over a "
            "thousand chats and a hundred channels, and with a connector that takes no more than "
            "Teams does. Aim: p99 at most 200 ms on two cores, all answered, and once."
        ),
        ["tests.bench.bench_teams"],
    ),
    "A thousand questions at once": (
        (
            "Posted twice to one server with a slow model. Aim: none lost, refused for good or "
            "answered twice, memory that does not grow with the second wave, /health below 1 s "
            "throughout."
        ),
        ["tests.bench.load"],
    ),
    "A day with the answer cache": (
        (
            "The sample company's labelled questions over a simulated day, as uneven as real ones "
            "(Zipf), without `ANSWER_CACHE` and with it; a recorded model with a stated delay. "
            "`seconds` are those that the askers waited, together. No aim: how often colleagues "
            "ask the same differs."
        ),
        ["tests.bench.bench_answer_cache"],
    ),
    "A question on the web page": (
        (
            "From the click to the bubble that shows the question, while 50 questions a second "
            "come from as many conversations and all of them are answered; beside it the page "
            "when nobody asks."
        ),
        ["tests.bench.bench_chat"],
    ),
    "A search against its raw parts": (
        "One search with permissions, beside a bare FTS5 query and a bare exact vector search.",
        ["tests.bench.bench_retrieval", "--chunks", "10000", "100000"],
    ),
    "Ingestion against the bare embedder": (
        (
            "Chunks a second of a whole sync over those of the embedder alone, on the same chunks "
            "in the same run. Aim: at least 0.90."
        ),
        ["tests.bench.bench_ingestion"],
    ),
    "Following Confluence": (
        (
            "A space of 10,000 pages on a local Confluence, with an embedder that costs nothing: "
            "a first pass, a look at changes and a look at everything where nothing changed; and "
            "500 pages with the real embedder beside that alone, on the same texts. Aims: at least "
            "0.90 of the bare embedder; at most one request for 100 pages, and no embedding, where "
            "nothing changed; at most 500 MB beyond the embedder."
        ),
        ["tests.bench.bench_confluence"],
    ),
    "Time to forget": (
        (
            "A real server over a local Confluence that is looked at whole each minute: seconds "
            "from a deletion or restriction until no question surfaces the page. Aims: at most one "
            "interval and a minute; with the last check, at once."
        ),
        ["tests.sweeps.syncing.removal_delay"],
    ),
}
PREFACE = """# Performance

Written by `make bench`. Absolute times are of one machine on one day; the ratios
compare things measured in the same run. Anyone can run each command below.
"""


def main() -> int:
    """Run the benches one after the other; 1 when one of them failed."""
    parts, failed = [PREFACE, f"{_machine()}\n"], []
    for title, (meaning, arguments) in BENCHES.items():
        print(f"== {title}", flush=True)
        done = subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        print(done.stdout, flush=True)
        if done.returncode:
            failed.append(title)
        command = f"$ python -m {' '.join(arguments)}"
        parts.append(f"## {title}\n\n{meaning}\n\n```console\n{command}\n{done.stdout}```\n")
    DOCUMENT.write_text("\n".join(parts))
    print(f"Failed: {', '.join(failed)}" if failed else f"Wrote {DOCUMENT.relative_to(ROOT)}")
    return 1 if failed else 0


def _machine() -> str:
    today = datetime.now(UTC).date()
    python = platform.python_version()
    return f"{today}, Python {python}, {os.cpu_count()} cores, {platform.machine()}."


if __name__ == "__main__":
    sys.exit(main())
