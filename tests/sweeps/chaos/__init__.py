"""Kills servers while questions are asked, and counts what the askers see."""
