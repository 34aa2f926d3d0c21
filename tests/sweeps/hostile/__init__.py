"""One matrix of hostile text: attack, form, carrier and platform, with one judge."""
