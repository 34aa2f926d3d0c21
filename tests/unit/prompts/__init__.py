"""Tests of the prompt files."""
