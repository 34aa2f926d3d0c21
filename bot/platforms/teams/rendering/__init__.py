"""Outcomes as Teams shows them: Markdown, Adaptive Cards, citations and labels; pure."""
