"""Markdown, links and numbers as text, without any platform's markup."""
