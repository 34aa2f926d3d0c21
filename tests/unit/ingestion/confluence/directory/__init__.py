"""Tests of the directory of colleagues."""
