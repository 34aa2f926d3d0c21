"""Tests of bringing a source into an index."""
