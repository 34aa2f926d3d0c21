"""Tests of single modules; the folders mirror the source."""
