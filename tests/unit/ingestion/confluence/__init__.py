"""Tests of Confluence as a source."""
