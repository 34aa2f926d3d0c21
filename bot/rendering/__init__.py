"""Outcomes as parts and words that every platform can show."""
