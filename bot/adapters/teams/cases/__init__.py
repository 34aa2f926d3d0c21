"""Questions that people are asked: their card, what is done, what the asker is told."""
