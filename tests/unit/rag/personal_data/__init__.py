"""Tests of what is recognised as personal data, and of putting it back."""
