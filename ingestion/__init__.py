"""Documents in, index up to date."""
