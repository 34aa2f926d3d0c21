"""Composition root of the server: builds and connects all components; only it imports ingestion."""
