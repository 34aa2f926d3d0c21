"""Read documents from their sources and keep the search index up to date with them."""
