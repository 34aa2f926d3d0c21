"""A Confluence that runs here: one site, spoken to as Cloud or as Data Center."""
