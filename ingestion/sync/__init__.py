"""Bring one space of the index up to date with its source: plan, apply, report."""
