"""Collect spans with the real SDK and an exporter that keeps a list."""

from __future__ import annotations

import re
from collections.abc import Mapping

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased


class Spans:
    """What was recorded, in the order in which it ended."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider(sampler=ParentBased(ALWAYS_ON), shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    @property
    def all(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    @property
    def names(self) -> list[str]:
        return [span.name for span in self.all]

    def one(self, name: str) -> ReadableSpan:
        """Return the only span of a name."""
        (found,) = [span for span in self.all if span.name == name]
        return found

    def told(self, name: str) -> Mapping[str, object]:
        """Return the attributes of the only span of a name."""
        return dict(self.one(name).attributes or {})

    def parent_of(self, name: str) -> str:
        """Return the name of the span that the only one of a name is in, "" for none of ours."""
        parent = self.one(name).parent
        inside = [
            span.name
            for span in self.all
            if parent and span.context and span.context.span_id == parent.span_id
        ]
        return "".join(inside)

    def trace_ids(self) -> set[str]:
        return {f"{span.context.trace_id:032x}" for span in self.all if span.context}

    def written(self) -> str:
        """Return what the spans say in words: no ids and times, whose digits may mean anything."""
        said = [
            (
                span.name,
                span.status.description,
                dict(span.attributes or {}),
                [(event.name, dict(event.attributes or {})) for event in span.events],
            )
            for span in self.all
        ]
        return re.sub(r"\b[0-9a-f]{32}\b", "", str(said))
