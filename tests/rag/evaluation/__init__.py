"""Tests of the mathematics of evaluation."""
