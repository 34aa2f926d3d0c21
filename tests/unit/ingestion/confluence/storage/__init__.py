"""Tests of reading Confluence's storage format."""
