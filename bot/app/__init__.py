"""COMPOSITION of the server: every part is joined here, once; it alone knows ingestion."""
