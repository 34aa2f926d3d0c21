"""Exit codes; docs/ingestion.md tells them."""

FAILED = 1
"""Done, but something could not be read; or index or embedder failed on the way."""
REFUSED = 2
"""Wrong usage or setting, the brake against mass deletion, another run, no such thing."""
INTERRUPTED = 130
