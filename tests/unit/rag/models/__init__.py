"""Tests of chat models and embedders, against local servers."""
