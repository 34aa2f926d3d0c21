"""Files that come with a question: what is read of them, and what of that is asked."""
