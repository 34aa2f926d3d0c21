"""Sync one space of the index with its source: plan, apply, report."""
