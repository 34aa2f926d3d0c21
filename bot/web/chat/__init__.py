"""The chat page in the browser."""
