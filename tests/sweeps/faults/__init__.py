"""One fault at a time, on a real server."""
