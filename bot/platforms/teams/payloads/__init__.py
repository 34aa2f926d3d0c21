"""Activities as Teams sends and takes them, read and built as plain values; pure."""
