"""What Teams sends: let in, or not."""
