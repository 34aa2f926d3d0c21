"""Tests of background runs."""
