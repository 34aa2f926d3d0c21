"""Tests of ingestion's commands."""
