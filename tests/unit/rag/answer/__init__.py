"""Tests of how passages become cited answers."""
