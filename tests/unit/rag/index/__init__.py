"""Tests of the two indexes and of the ranking that they share."""
