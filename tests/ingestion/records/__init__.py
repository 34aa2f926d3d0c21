"""Tests of what ingestion remembers."""
