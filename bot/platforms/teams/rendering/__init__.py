"""Render outcomes for Teams: Markdown, Adaptive Cards, citations and labels; pure."""
