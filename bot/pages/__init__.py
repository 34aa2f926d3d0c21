"""What all pages of the server share: their frame, their files, text as safe HTML."""
