"""Tests of the records of ingestion."""
