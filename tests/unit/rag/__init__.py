"""Tests of rag: retrieval, answers, models and their settings."""
